//! `completions` and `man`: files that packages install beside the binary.

use std::fs;

use crate::support::command::petstore;

#[test]
fn each_shell_completes_commands_and_flags() {
    for shell in ["bash", "zsh", "fish"] {
        let script = petstore(&["completions", shell]).finish().succeeds();
        for word in ["serve", "keys", "tls-cert"] {
            assert!(script.contains(word), "{shell}: no '{word}'");
        }
    }
}

#[test]
fn there_is_a_manual_page_of_the_program_and_of_each_command() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    assert_eq!(petstore(&["man", path]).finish().succeeds(), "");
    for (page, word) in [
        ("petstore.1", "serve"),
        ("petstore-serve.1", "PETSTORE_LISTEN"),
        ("petstore-keys-roll.1", "overlap"),
    ] {
        let text = fs::read_to_string(folder.path().join(page)).unwrap();
        assert!(text.starts_with(".ie") && text.contains(word), "{page}: {text}");
        assert!(text.contains("\n.SH EXAMPLES\n.nf\n  petstore "), "{page}: {text}");
        assert!(!text.contains("\n.br\n\n"), "an empty line after .br: {page}: {text}");
        assert!(!text.contains(".nf\n.fi") && !text.ends_with(".nf\n"), "{page}: {text}");
    }
    let serve = fs::read_to_string(folder.path().join("petstore-serve.1")).unwrap();
    for part in [
        ".SH EXIT STATUS",
        "\n78\n",
        ".SH FILES",
        "\n.I /usr/share/doc/petstore/OPERATING.md\n",
        ".SH ENVIRONMENT",
        ".SH NOTES",
        ".B PETSTORE_API_KEY\n",
    ] {
        assert!(serve.contains(part), "no '{part}': {serve}");
    }
    let keys = fs::read_to_string(folder.path().join("petstore-keys.1")).unwrap();
    assert!(!folder.path().join("petstore-help.1").exists());
    for other in ["petstore (1)", "petstore-keys-create (1)"] {
        assert!(keys.replace("\\-", "-").contains(&format!("\n.BR {other}\n")), "{other}: {keys}");
    }
}
