"""Hooks of mkdocs: docs/ holds more than pages, README is the front page, and links may leave docs/."""

import os
import posixpath
import re

from mkdocs.structure.files import File

REPOSITORY = "https://github.com/headgate-dev/headgate/blob/main/"
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
LINK = re.compile(r"(!?)(\[[^\]]*\]\()([^)#:\s]+)(#[^)]*)?\)")


def on_files(files, config):
    """Leaves the Go package out, which embeds the pages, and takes README in."""
    for file in list(files):
        if file.src_path.endswith(".go"):
            files.remove(file)
    files.append(File("README.md", ROOT, config["site_dir"], config["use_directory_urls"]))
    return files


def on_page_markdown(markdown, page, config, files):
    """Turns links that lead out of docs/ into links to the repository; no picture comes from there."""
    front = page.file.src_path == "README.md"
    here = "" if front else posixpath.join("docs", posixpath.dirname(page.file.src_path))

    def link(found):
        picture, text, path, anchor = found.groups()
        target = posixpath.normpath(posixpath.join(here, path))
        if target.startswith("docs/"):
            if not front:
                return found[0]
            return picture + text + target[len("docs/"):] + (anchor or "") + ")"
        if picture:
            return ""
        return text + REPOSITORY + target + (anchor or "") + ")"

    return LINK.sub(link, markdown)
