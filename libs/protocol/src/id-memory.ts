/** The ids of the past, the last `capacity` of them, each with what is still to be known about it. */
export class IdMemory<Id, Note = true> {
  private readonly notes = new Map<Id, Note>();

  constructor(private readonly capacity: number) {}

  get size(): number {
    return this.notes.size;
  }

  remember(id: Id, note: Note): void {
    this.notes.delete(id);
    this.notes.set(id, note);
    if (this.notes.size <= this.capacity) return;
    for (const oldest of this.notes.keys()) {
      this.notes.delete(oldest);
      return;
    }
  }

  has(id: Id): boolean {
    return this.notes.has(id);
  }

  recall(id: Id): Note | undefined {
    return this.notes.get(id);
  }

  forget(id: Id): void {
    this.notes.delete(id);
  }

  clear(): void {
    this.notes.clear();
  }
}
