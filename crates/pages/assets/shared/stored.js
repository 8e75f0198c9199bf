// The storage of the API key for both pages, and checks of a key that need no request.

const ITEM = 'petstore.key';
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** The length of a key, and of the checksum at its end. */
const LENGTH = 42;
const CHECK = 6;

/** The storage of this tab. If the browser forbids it, the key lasts as long as the page. */
const storage = (() => {
  try {
    sessionStorage.getItem(ITEM);
    return sessionStorage;
  } catch {
    const items = new Map();
    return {
      getItem: (name) => items.get(name) ?? null,
      setItem: (name, value) => items.set(name, value),
      removeItem: (name) => items.delete(name),
    };
  }
})();

/** Returns the key of this tab, or an empty text. */
export const storedKey = () => storage.getItem(ITEM) ?? '';

/** Stores `key` for this tab. An empty text forgets the key. */
export const storeKey = (key) => (key ? storage.setItem(ITEM, key) : storage.removeItem(ITEM));

/** Returns whether the key of this tab may only read, by its prefix. */
export const isReadOnly = () => /^psr_[0-9A-Za-z]{38}$/.test(storedKey());

/** Returns the reason why `key` is malformed, or an empty text. The operator's own key may have any other form. */
export function faultOfKey(key) {
  if (key === '') return 'Enter an API key.';
  if (!/^[\x21-\x7e]+$/.test(key)) return 'An API key has no spaces and no characters beyond ASCII.';
  if (!/^ps[tr]_[0-9A-Za-z]*$/.test(key)) return '';
  if (key.length < LENGTH) return `This key is incomplete: it has ${key.length} characters of ${LENGTH}.`;
  if (key.length > LENGTH) return `This key is too long: it has ${key.length} characters instead of ${LENGTH}.`;
  const isWhole = checkSum(key.slice(0, -CHECK)) === key.slice(-CHECK);
  return isWhole ? '' : 'This key is mistyped: its last characters do not fit the others.';
}

/** Returns the CRC-32 of an ASCII text, in base62. */
function checkSum(text) {
  let crc = -1;
  for (const character of text) {
    crc ^= character.charCodeAt(0);
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  let [rest, sum] = [~crc >>> 0, ''];
  for (; sum.length < CHECK; rest = Math.floor(rest / 62)) sum = BASE62[rest % 62] + sum;
  return sum;
}
