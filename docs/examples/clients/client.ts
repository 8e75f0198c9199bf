// Adds animals, reads all pages, and downloads a page again only if it has changed: `docs/CLIENTS.md` of petstore
// explains each step. BASE and KEY are in the environment. Prints the text after each =>.

import { randomUUID } from "node:crypto";

const pets = `${process.env.BASE}/pets`;

async function call(url: string | URL, init: RequestInit = {}): Promise<Response> {
  const headers = { Authorization: `Bearer ${process.env.KEY}`, ...init.headers };
  for (let attempt = 0; ; attempt++) {
    let wait = Math.random() * Math.min(10, 0.2 * 2 ** attempt);
    try {
      const answer = await fetch(url, { ...init, headers, signal: AbortSignal.timeout(10_000) });
      if (![408, 429, 503].includes(answer.status) || attempt === 4) return answer;
      wait += Number(answer.headers.get("Retry-After") ?? 0);
    } catch (failure) {
      if (attempt === 4) throw failure;
    }
    await new Promise((done) => setTimeout(done, wait * 1000));
  }
}

class Refused extends Error {
  constructor(readonly code: string, message: string, readonly requestId: string | null) {
    super(message);
  }
}

async function checked(answer: Response): Promise<Response> {
  if (answer.status < 400) return answer;
  const error = await answer.json().catch(() => undefined); // a proxy may have answered
  const { code = `http_${answer.status}`, message = answer.statusText } = error ?? {};
  throw new Refused(code, message, answer.headers.get("X-Request-Id"));
}

await checked(await call(`${pets}?limit=0`)).catch((refused) => console.log(refused.code));
// => invalid_query

async function add(pet: object, key: string): Promise<Response> {
  const headers = { "Content-Type": "application/json", "Idempotency-Key": key };
  return checked(await call(pets, { method: "POST", body: JSON.stringify(pet), headers }));
}

const key = randomUUID();
const rex = { name: "Rex", categoryId: 1, status: "available" };
const [first, second] = [await add(rex, key), await add(rex, key)];
console.log(second.headers.get("Idempotency-Replayed"), (await first.text()) === (await second.text()));
// => true true

type Pet = { id: number; name: string; categoryId: number; status?: "available" | "pending" | "sold" };

for (const name of ["Mia", "Ada", "Bo", "Kit"]) await add({ name, categoryId: 2 }, name);

async function* walk(query: string): AsyncGenerator<Pet> {
  for (let url: URL | undefined = new URL(`${pets}?${query}`); url; ) {
    const page: Response = await checked(await call(url));
    yield* (await page.json()) as Pet[];
    const next: string | undefined = /<([^>]*)>; rel="next"/.exec(page.headers.get("Link") ?? "")?.[1];
    url = next ? new URL(next, url) : undefined;
  }
}

const names: string[] = [];
for await (const pet of walk("limit=2")) names.push(pet.name);
console.log(names.join(" "));
// => Rex Mia Ada Bo Kit

const kept = await checked(await call(pets));
const asked = await call(pets, { headers: { "If-None-Match": kept.headers.get("ETag") ?? "" } });
console.log(asked.status);
// => 304

function parse(text: string): unknown {
  const digits = text.replace(/"(id|categoryId)":(-?\d+)/g, '"$1":"$2"');
  return JSON.parse(digits, (name, value) =>
    name === "id" || name === "categoryId" ? BigInt(value) : value,
  );
}

const large = '{"name":"Max","categoryId":9223372036854775807}'; // JSON.stringify takes no BigInt
const headers = { "Content-Type": "application/json", "Idempotency-Key": randomUUID() };
const max = await checked(await call(pets, { method: "POST", body: large, headers }));
console.log(parse(await max.text()));
// => { id: 6n, name: 'Max', categoryId: 9223372036854775807n }
