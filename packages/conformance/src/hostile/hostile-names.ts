// Names that have broken queues: paths, patterns, statements, separators, internal words, and names that look alike.

const words = (text: string): string[] => text.split(' ')

const paths = words(
  String.raw`. .. ... ../../x / // /etc/passwd a/b a\b C:\x ./a ~ x.job a.job.b a.tmp CON nul LPT1 dot.`,
)
const blanks = [
  'space ',
  ' space',
  'a\tb',
  'line\nbreak',
  'line\r\nbreak',
  '\u0001',
  '\u007f',
  '\u200b',
  '\ufeff',
  '\u2028',
]
const marks = words(': :: a:b user:42 a:exp {a} }{ {} { } {a}{b} | , ; - _ @ # = + ! ^ &')
const patterns = words(String.raw`* ? [a-z] % _% %2e %2F %00 %41 %s %d $1 $$ \0 \ \x00 &amp; ^a$ $` + ' ${x}')
const statements = [
  ...words(`" ' \` "" '' /* */ -- </script>`),
  "'; --",
  "'; DROP TABLE jobs; --",
  '<img src=x onerror=y>',
]
const language = words(
  '__proto__ constructor prototype toString hasOwnProperty valueOf length then toJSON null undefined NaN true 0 -0 1e3 []',
)
const internalWords = words(
  'job jobs ready later leases wait waiting events meta history lock kv group paused deduplication key keys type types id ' +
    'state queued scheduled blocked processing failing completed failed cancelled chain root token worker seq mark sweep',
)
const scripts = [
  '\u05e9\u05dc\u05d5\u05dd',
  '\u202eabc',
  '\u{1f600}',
  '\u{1f468}\u200d\u{1f469}',
  '\u00df',
  '[object Object]',
]
/** 256 bytes, as characters of one byte and of four. */
const long = ['x'.repeat(256), '\u{1f600}'.repeat(64)]

/** Each is a valid id, type, key, worker and label: it is returned unchanged and equals no other name. */
export const hostileNames: readonly string[] = [
  ...paths,
  ...blanks,
  ...marks,
  ...patterns,
  ...statements,
  ...language,
  ...internalWords,
  ...scripts,
  ...long,
]

/** The longest ids and keys: 512 bytes. */
export const longNames: readonly string[] = ['y'.repeat(512), '\u{1f601}'.repeat(128), '\u00e9'.repeat(256)]

/** Pairs that some storage would treat as one name: they must stay distinct. */
export const lookalikes: readonly (readonly [string, string])[] = [
  ['A', 'a'],
  ['Stra\u00dfe', 'STRASSE'],
  ['\u0130', 'i'],
  ['\u00e9', 'e\u0301'],
  ['\ufb01', 'fi'],
  ['%41', 'A'],
  ['%2e', '.'],
  ['%2F', '/'],
  ['1', '01'],
  ['1', '1.0'],
  ['1', ' 1'],
  ['0', '-0'],
  ['a', 'a '],
  ['a', 'a.'],
  ['a', 'a/'],
  ['a', './a'],
  ['a', 'a\n'],
  ['a', 'a\u200b'],
  ['a', '\ufeffa'],
  ['a', '*'],
  ['a', '_'],
  ['a', '{a}'],
  ['a', "'a'"],
  ['a', '"a"'],
  ['a\\b', 'a/b'],
  ['a+b', 'a b'],
  ['a:b', 'a::b'],
  ['null', 'undefined'],
  ['k'.repeat(180) + '1', 'k'.repeat(180) + '2'],
  ['k'.repeat(255), 'k'.repeat(256)],
]

/** Separators that a storage may join two names with. */
export const separators: readonly string[] = [
  ...words(String.raw`: :: / \ | , ; . - _ # @ = & + * % $ ! ~ ^ { } ' " "," "][" %3A %2F`),
  ...' \t\n\u0001\u001f\u007f`',
]
