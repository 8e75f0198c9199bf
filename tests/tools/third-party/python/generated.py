"""Calls a live service with the client that openapi-python-client has generated."""

import os
import re
from http import HTTPStatus

from petstore_client import AuthenticatedClient
from petstore_client.api.pets import create_pet, list_pets
from petstore_client.models import Error, ErrorCode, NewPet, Pet, PetStatus
from petstore_client.types import UNSET, Unset

BASE, KEY = os.environ["BASE"], os.environ["KEY"]
client = AuthenticatedClient(base_url=BASE, token=KEY)
stranger = AuthenticatedClient(base_url=BASE, token="no-such-key")


def create(name: str) -> Pet:
    pet = create_pet.sync(client=client, body=NewPet(name, category_id=7, status=PetStatus.SOLD))
    assert isinstance(pet, Pet), pet
    return pet


def pages() -> list[list[Pet]]:
    """Walks the list by its links, two animals per page. Returns all pages."""
    found: list[list[Pet]] = []
    cursor: str | Unset = UNSET
    while True:
        answer = list_pets.sync_detailed(client=client, limit=2, status=PetStatus.SOLD, cursor=cursor)
        assert isinstance(answer.parsed, list), answer
        found.append(answer.parsed)
        following = re.search(r'cursor=([^&>]+)[^>]*>; rel="next"', answer.headers.get("link", ""))
        if not following:
            return found
        cursor = following.group(1)


created = [create(name) for name in ["Rex", "Mia", "Olé 🐢", "Ada", "Bo"]]
assert created[2].name == "Olé 🐢" and created[2].category_id == 7, created[2]
walked = pages()
assert [len(page) for page in walked] == [2, 2, 1], walked
assert [pet for page in walked for pet in page] == created, walked

refused = create_pet.sync(client=client, body=NewPet(name=" ", category_id=7))
assert isinstance(refused, Error), refused
assert refused.code == ErrorCode.INVALID_PET and refused.status == HTTPStatus.BAD_REQUEST, refused

unknown = list_pets.sync(client=stranger)
assert isinstance(unknown, Error), unknown
assert unknown.code == ErrorCode.UNAUTHORIZED and unknown.status == HTTPStatus.UNAUTHORIZED, unknown
print("python: created 5, walked 3 pages, read a 400 and a 401")
