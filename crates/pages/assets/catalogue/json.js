// JSON whose numbers keep every digit. An int64 does not fit into a number of JavaScript, so
// identifiers and categories are strings of digits.

/** Reads JSON, with every number as the text that it was written as. */
export function parseExactly(text) {
  const tokens = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
  return JSON.parse(text.replace(tokens, (token) => (token[0] === '"' ? token : `"${token}"`)));
}

/** The objects of an array, each as it was written. An animal has no object in it. */
export const objectsOf = (text) => text.match(/\{(?:"(?:[^"\\]|\\.)*"|[^"}])*\}/g) ?? [];
