//! The examples of `--help`, one for what most people want of each command.

use clap::Command;

/// Each command's, under its name; one without its own has those of the command above.
const EXAMPLES: &str = "
# petstore
  petstore serve                            serve ./petstore.db on 127.0.0.1:8080
  petstore keys create web --expires 90d    make an API key for a client
  petstore help serve                       every setting of the service

Each flag of serve has an environment variable: --store is PETSTORE_STORE. Other commands read those \
of the flags that they share with it.

# petstore serve
  petstore serve
  petstore serve --listen 0.0.0.0:8080 --store sqlite:/var/lib/petstore/petstore.db
  petstore serve --listen 127.0.0.1:8080 --listen unix:/run/petstore/http.sock
  petstore serve --cors-origin https://app.example --cors-origin http://localhost:3000
  PETSTORE_STORE=postgres://me:secret@db.example/petstore petstore serve

Environment:
  PETSTORE_API_KEY  One more API key, of at least 16 characters; it is never stored or logged

A store without any API key gets one named 'default', unless PETSTORE_API_KEY or --api-key-file gives \
one. On a terminal it is printed once; elsewhere a SQLite store has it in a file beside it, \
PATH.key, and for other stores none is made.

SIGTERM or SIGINT stops the service: requests under way get their answers within --shutdown-grace, \
and the exit code is 0. A second signal ends it at once, with exit code 1. SIGHUP reads the certificate \
and the file of the API key again.

# petstore keys
  petstore keys create web --expires 90d
  petstore keys list
  petstore keys roll web --overlap 24h
  petstore keys revoke web

# petstore keys create
  petstore keys create web --expires 90d
  petstore keys create report --read-only
  petstore keys create web --store sqlite:/var/lib/petstore/petstore.db
  KEY=$(petstore keys create web)

# petstore keys list
  petstore keys list
  petstore keys list --output json
  petstore keys list --store sqlite:/var/lib/petstore/petstore.db

# petstore keys revoke
  petstore keys revoke web    every key of this name
  petstore keys revoke 7      the key with this identifier

# petstore keys roll
  petstore keys roll web                  the old key is good for 24 hours more
  petstore keys roll web --overlap 0s     the old key is refused from now on

# petstore store
  petstore store copy   --from sqlite:petstore.db --to postgres://me@db.example/petstore
  petstore store verify --from sqlite:petstore.db --to postgres://me@db.example/petstore

# petstore store move
  petstore serve --store sqlite:petstore.db --next-store postgres://me@db.example/petstore
  petstore store move --from sqlite:petstore.db --to postgres://me@db.example/petstore
  petstore store move --from sqlite:petstore.db --to postgres://me@db.example/petstore --cancel

The way back is the same command with the URLs exchanged.

# petstore store release
  petstore store release sqlite:restored.db --force

# petstore export
  petstore export pets.csv
  petstore export | gzip > pets.ndjson.gz
  petstore export --store sqlite:/var/lib/petstore/petstore.db pets.ndjson

# petstore import
  petstore import pets.csv
  petstore import --create --store sqlite:new.db pets.ndjson
  zcat pets.ndjson.gz | petstore import

# petstore backup
  petstore backup --to /backups/petstore.db
  petstore backup --store sqlite:/var/lib/petstore/petstore.db --to /backups/monday.db

To restore one, stop the service, remove its store with -wal and -shm, and copy the file there.

# petstore check
  petstore check
  petstore check --store sqlite:/backups/petstore.db

# petstore upgrade
  petstore upgrade --dry-run
  petstore upgrade --store sqlite:/var/lib/petstore/petstore.db
  petstore upgrade --store postgres://owner@db.example/petstore

# petstore config
  petstore config show
  petstore config show --config /etc/petstore.toml

# petstore healthcheck
  petstore healthcheck
  petstore healthcheck --listen 0.0.0.0:8080 --timeout 1s
  petstore healthcheck --listen unix:/run/petstore/http.sock

# petstore completions
  petstore completions bash > /usr/share/bash-completion/completions/petstore

# petstore man
  petstore man /usr/local/share/man/man1

# petstore openapi
  petstore openapi > openapi.json
  petstore openapi --public-url https://pets.example/v1 > openapi.json
";

/// Adds the examples of a command, whose name follows `path`, and of its own commands.
pub(super) fn with_examples(command: Command, path: &str, inherited: &str) -> Command {
    let path = format!("{path} {}", command.get_name());
    let own = EXAMPLES.split("\n#").find_map(|part| part.strip_prefix(&format!("{path}\n")));
    let examples = own.unwrap_or(inherited).trim_end();
    let command = command.after_help(format!("Examples:\n{examples}"));
    command.mut_subcommands(|inner| with_examples(inner, &path, examples))
}
