/** Where programs are found on this machine. */
export const SEARCH_PATH = process.env['PATH'] || '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
