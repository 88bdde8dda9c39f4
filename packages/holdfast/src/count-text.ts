// A number with its noun.

/** Such as `1 job` and `2 jobs`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`
