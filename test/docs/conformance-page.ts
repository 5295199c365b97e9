import { ALL_CASES, PROMISES, type ConformanceCase, type PromiseId } from '#libs/conformance';
import { code, table } from './table.js';

/** `docs/conformance.md`. */
export function conformancePage(): string {
  const promises = Object.entries(PROMISES) as [PromiseId, string][];
  return `# Conformance

The contract as ${ALL_CASES.length} cases that run against every adapter: \`nestjs-sandbox/conformance\`. A case is a value with a
permanent id, so any test runner can run it, and so can a program without one:

\`\`\`ts
for (const one of conformanceCases(subject)) test(\`\${one.id} \${one.title}\`, () => one.run());
\`\`\`

[How to write an adapter](adapters.md) shows what a subject is. This page says which cases hold which promise.

- _MUST_: an adapter without it is broken. _SHOULD_: users expect it. _MAY_: worth knowing.
- _Needs_: a capability, a trait, a word of the subject's vocabulary, a fault that it can inject, or an insight behind
  the adapter. A case whose needs are not met does not run, and the report says which one is missing. For a capability
  that is declared absent, the refusal is tested instead (_without_).
- A failure tells what was expected and what was seen, with every call and frame before it and the promise that broke.

\`npm run conformance\` runs the suite on everything that is in this repository and prints the table, cases down and
targets across; \`npm run conformance -- --help\` lists the options. That each case can fail is proved by defects: broken
variants of the fake and of the fake daemon, each with the cases that must catch it (\`test/conformance/mutants\`).

${promises.map(([id, sentence]) => chapter(id, sentence)).join('\n\n')}
`;
}

function chapter(id: PromiseId, sentence: string): string {
  const cases = ALL_CASES.filter(({ promise }) => promise === id);
  return `## ${id}

${sentence}

${table(
  ['case', 'level', 'an adapter …', 'needs'],
  cases.map((one) => [one.id, one.level, one.title, conditions(one)]),
)}`;
}

function conditions({ needs = [], lacks }: ConformanceCase): string {
  return [...needs.map(code), ...(lacks === undefined ? [] : [`without ${code(lacks)}`])].join(', ');
}
