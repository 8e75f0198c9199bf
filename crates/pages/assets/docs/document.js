// The OpenAPI document as the page needs it. What it says is unchanged; what a form would do with
// it is not always what a reader expects.

/** A copy of `source` for forms that call the server of this page. */
export function forPage(source) {
  const copy = structuredClone(source);
  // The page may call its own server alone: the policy of the page refuses any other.
  copy.servers = [{ url: '/v1' }];
  for (const parameter of parameters(copy)) tellInsteadOfFilling(parameter);
  dropBoundsBeyondNumbers(copy);
  return copy;
}

/** Every parameter that is written down somewhere, rather than referred to. */
function parameters(source) {
  const items = Object.values(source.paths ?? {});
  const operations = items.flatMap((item) => Object.values(item));
  const listed = [...items, ...operations].flatMap((owner) => owner?.parameters ?? []);
  return [...listed, ...Object.values(source.components?.parameters ?? {})].filter(({ name }) => name);
}

/**
 * An example fills its field, and would be sent with the first request. For an `Idempotency-Key`
 * that is wrong, so examples of what is optional move into the text. The text names the stability.
 */
function tellInsteadOfFilling(parameter) {
  const said = [parameter.description];
  if (!parameter.required && parameter.example !== undefined) {
    said.push(`Example: \`${parameter.example}\`.`);
    delete parameter.example;
  }
  if (parameter['x-stability']) said.push(`Stability: **${parameter['x-stability']}**.`);
  parameter.description = said.filter(Boolean).join(' ');
}

/** Limits of an int64 are no numbers of JavaScript: they would be shown wrong. */
function dropBoundsBeyondNumbers(value) {
  if (value === null || typeof value !== 'object') return;
  for (const bound of ['minimum', 'maximum']) {
    if (typeof value[bound] === 'number' && Math.abs(value[bound]) > Number.MAX_SAFE_INTEGER) {
      delete value[bound];
    }
  }
  Object.values(value).forEach(dropBoundsBeyondNumbers);
}
