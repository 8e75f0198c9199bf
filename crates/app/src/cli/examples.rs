//! The examples of `--help`, one for what most people want of each command.

pub(super) const PROGRAM: &str = "\
Examples:
  petstore serve                            serve ./petstore.db on 127.0.0.1:8080
  petstore keys create web --expires 90d    make an API key for a client
  petstore help serve                       every setting of the service

Each flag of serve has an environment variable: --store is PETSTORE_STORE. Other commands read those \
of the flags that they share with it.";

pub(super) const KEYS: &str = "\
Examples:
  petstore keys create web --expires 90d
  petstore keys list
  petstore keys roll web --overlap 24h
  petstore keys revoke web";

pub(super) const KEYS_CREATE: &str = "\
Examples:
  petstore keys create web --expires 90d
  petstore keys create report --read-only
  petstore keys create web --store sqlite:/var/lib/petstore/petstore.db
  KEY=$(petstore keys create web)";

pub(super) const KEYS_LIST: &str = "\
Examples:
  petstore keys list
  petstore keys list --output json
  petstore keys list --store sqlite:/var/lib/petstore/petstore.db";

pub(super) const KEYS_REVOKE: &str = "\
Examples:
  petstore keys revoke web    every key of this name
  petstore keys revoke 7      the key with this identifier";

pub(super) const KEYS_ROLL: &str = "\
Examples:
  petstore keys roll web                  the old key is good for 24 hours more
  petstore keys roll web --overlap 0s     the old key is refused from now on";

pub(super) const STORE: &str = "\
Examples:
  petstore store copy   --from sqlite:petstore.db --to postgres://me@db.example/petstore
  petstore store verify --from sqlite:petstore.db --to postgres://me@db.example/petstore";

pub(super) const STORE_MOVE: &str = "\
Examples:
  petstore serve --store sqlite:petstore.db --next-store postgres://me@db.example/petstore
  petstore store move --from sqlite:petstore.db --to postgres://me@db.example/petstore
  petstore store move --from sqlite:petstore.db --to postgres://me@db.example/petstore --cancel

The way back is the same command with the URLs exchanged.";

pub(super) const STORE_RELEASE: &str = "\
Examples:
  petstore store release sqlite:restored.db --force";

pub(super) const EXPORT: &str = "\
Examples:
  petstore export pets.csv
  petstore export | gzip > pets.ndjson.gz
  petstore export --store sqlite:/var/lib/petstore/petstore.db pets.ndjson";

pub(super) const IMPORT: &str = "\
Examples:
  petstore import pets.csv
  petstore import --create --store sqlite:new.db pets.ndjson
  zcat pets.ndjson.gz | petstore import";

pub(super) const BACKUP: &str = "\
Examples:
  petstore backup --to /backups/petstore.db
  petstore backup --store sqlite:/var/lib/petstore/petstore.db --to /backups/monday.db

To restore one, stop the service, remove its store with -wal and -shm, and copy the file there.";

pub(super) const CHECK: &str = "\
Examples:
  petstore check
  petstore check --store sqlite:/backups/petstore.db";

pub(super) const UPGRADE: &str = "\
Examples:
  petstore upgrade --dry-run
  petstore upgrade --store sqlite:/var/lib/petstore/petstore.db
  petstore upgrade --store postgres://owner@db.example/petstore";

pub(super) const CONFIG: &str = "\
Examples:
  petstore config show
  petstore config show --config /etc/petstore.toml";

pub(super) const HEALTHCHECK: &str = "\
Examples:
  petstore healthcheck
  petstore healthcheck --listen 0.0.0.0:8080 --timeout 1s
  petstore healthcheck --listen unix:/run/petstore/http.sock";

pub(super) const COMPLETIONS: &str = "\
Examples:
  petstore completions bash > /usr/share/bash-completion/completions/petstore";

pub(super) const MAN: &str = "\
Examples:
  petstore man /usr/local/share/man/man1";

pub(super) const OPENAPI: &str = "\
Examples:
  petstore openapi > openapi.json
  petstore openapi --public-url https://pets.example/v1 > openapi.json";
