# Adds animals, reads all pages, and downloads a page again only if it has changed: `docs/CLIENTS.md` of petstore
# explains each step. BASE and KEY are in the environment; needs httpx. Prints the text after each =>.

import os, random, time, uuid
from collections.abc import Iterator
from typing import Any
import httpx

PETS = f"{os.environ['BASE']}/pets"
http = httpx.Client(headers={"Authorization": f"Bearer {os.environ['KEY']}"}, timeout=10)

def call(method: str, url: httpx.URL | str, **request: Any) -> httpx.Response:
    for attempt in range(5):
        wait = random.uniform(0, min(10, 0.2 * 2**attempt))
        try:
            answer = http.request(method, url, **request)
            if answer.status_code not in (408, 429, 503) or attempt == 4:
                return answer
            wait += float(answer.headers.get("Retry-After", 0))
        except httpx.TransportError:
            if attempt == 4:
                raise
        time.sleep(wait)
    raise AssertionError

class Refused(Exception):
    """A refusal: code, message and request id of the service, or only "http_" and the status of a proxy's answer."""

def checked(answer: httpx.Response) -> httpx.Response:
    if answer.status_code < 400:
        return answer
    try:
        error = answer.json()
        raise Refused(error["code"], error["message"], answer.headers.get("X-Request-Id"))
    except (ValueError, LookupError, TypeError):
        raise Refused(f"http_{answer.status_code}") from None

try:
    checked(call("GET", PETS, params={"limit": 0}))
except Refused as refused:
    print(refused.args[0])
# => invalid_query

def add(pet: dict[str, Any], key: str) -> httpx.Response:
    return checked(call("POST", PETS, json=pet, headers={"Idempotency-Key": key}))

key = str(uuid.uuid4())
rex = {"name": "Rex", "categoryId": 1, "status": "available"}
first, second = add(rex, key), add(rex, key)
print(second.headers["Idempotency-Replayed"], first.json() == second.json())
# => true True

for name in ["Mia", "Ada", "Bo", "Kit"]:
    add({"name": name, "categoryId": 2}, key=name)

def walk(**query: Any) -> Iterator[dict[str, Any]]:
    page = checked(call("GET", PETS, params=query))
    while True:
        yield from page.json()
        if "next" not in page.links:
            return
        page = checked(call("GET", page.url.join(page.links["next"]["url"])))

print([pet["name"] for pet in walk(limit=2)])
# => ['Rex', 'Mia', 'Ada', 'Bo', 'Kit']

kept = checked(call("GET", PETS))
print(checked(call("GET", PETS, headers={"If-None-Match": kept.headers["ETag"]})).status_code)
# => 304
