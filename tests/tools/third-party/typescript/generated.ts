// Calls a live service through openapi-fetch, with the types that openapi-typescript has generated.

import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./petstore.js";

type Pet = components["schemas"]["Pet"];
type Code = components["schemas"]["Error"]["code"];

const baseUrl = process.env["BASE"] ?? "";
const bearing = (key: string) => createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });
const client = bearing(process.env["KEY"] ?? "");

async function create(name: string): Promise<Pet> {
  const { data, error } = await client.POST("/pets", { body: { name, categoryId: 7, status: "pending" } });
  assert(data, JSON.stringify(error));
  return data;
}

/** Walks the list by its links, two animals per page. Returns all pages. */
async function pages(): Promise<Pet[][]> {
  const found: Pet[][] = [];
  let cursor: string | undefined;
  do {
    const query = { limit: 2, status: "pending" as const, ...(cursor === undefined ? {} : { cursor }) };
    const { data, error, response } = await client.GET("/pets", { params: { query } });
    assert(data, JSON.stringify(error));
    found.push(data);
    cursor = /cursor=([^&>]+)[^>]*>; rel="next"/.exec(response.headers.get("link") ?? "")?.[1];
  } while (cursor !== undefined);
  return found;
}

const created: Pet[] = [];
for (const name of ["Rex", "Mia", "Olé 🐢", "Ada", "Bo"]) created.push(await create(name));
const walked = await pages();
assert.deepEqual(walked.map((page) => page.length), [2, 2, 1]);
assert.deepEqual(walked.flat(), created);

const refused = await client.POST("/pets", { body: { name: " ", categoryId: 7 } });
assert(refused.error);
assert.equal(refused.error.code, "invalid_pet" satisfies Code);
assert.equal(refused.error.status, 400);

const unknown = await bearing("no-such-key").GET("/pets");
assert.equal(unknown.error?.code, "unauthorized" satisfies Code);
assert.equal(unknown.error.status, 401);
console.log("typescript: created 5, walked 3 pages, read a 400 and a 401");
