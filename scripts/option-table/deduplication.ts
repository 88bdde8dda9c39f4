// The interfaces that document the options of a deduplication. Where two have a field, the sentence of the later one is shown.

export const deduplicationTypes = ['Ascending', 'Debounce', 'Once'].map(
  (mode) => `holdfast/src/engine/job/deduplication.ts#${mode}Deduplication`,
)
