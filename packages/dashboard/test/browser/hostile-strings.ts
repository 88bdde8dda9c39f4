// Strings that would run code, break out of markup or break the layout, if a page took them for anything but text.

export const hostileStrings: readonly string[] = [
  '<img src=x onerror=alert(1)>',
  '</script><script>alert(1)</script>',
  '"><svg onload=alert(1)>',
  "javascript:alert('1')",
  '{{constructor.constructor("alert(1)")()}}',
  '\u202e\u2066right to left\u2069',
  `${'W'.repeat(250)}`,
  '<b>bold</b>\n<marquee>',
]
