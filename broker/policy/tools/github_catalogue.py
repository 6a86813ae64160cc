#!/usr/bin/env python3
"""Makes the table of GitHub's REST operations from GitHub's public description.

    github_catalogue.py DESCRIPTION.json > ../catalogue_github.def       write the table
    github_catalogue.py DESCRIPTION.json --compare ../catalogue_github.def   say what is new, gone or changed; exit 1 if anything

The description is the OpenAPI document of api.github.com (`api.github.com.json` of its published package). An operation
that no rule below classifies is left out of the table, and so denied; it is named on standard error. Rules are tried from
the top: the first that matches gives the class, and the most specific danger stands first (`cross-repo` last).
"""

import json
import re
import sys

REPO = "/repos/{owner}/{repo}"
METHODS = ("get", "post", "put", "patch", "delete")
# Parameters that the host lets span several segments although the description does not say so.
SPANNING = {"path", "ref", "branch", "basehead", "dir", "tag", "tree_sha"}
WRITES = "POST|PUT|PATCH|DELETE"
ANY = "GET|" + WRITES

# methods, path behind the repository (whole match), class, what of the body decides
REPOSITORY = [
    # Credentials and their places.
    ("POST|GET", r"/actions/runners/(registration-token|remove-token|generate-jitconfig)", "token", ""),
    (WRITES, r"/(actions|agents|codespaces|dependabot)/(secrets|variables)(/.*)?", "admin", ""),
    (WRITES, r"/environments/[^/]+/(secrets|variables)(/.*)?", "admin", ""),
    (WRITES, r"/(actions/runners|hooks|keys|collaborators|invitations)(/.*)?", "admin", ""),
    ("GET", r"/(actions|agents|codespaces|dependabot)/(organization-)?(secrets|variables)(/.*)?", "read-sensitive", ""),
    ("GET", r"/environments(/.*)?", "read-sensitive", ""),
    ("GET", r"/(actions/(runners|permissions|oidc|cache)|hooks|keys|collaborators|invitations|teams|traffic|rulesets|"
            r"interaction-limits|installation|properties|private-vulnerability-reporting|vulnerability-alerts|"
            r"automated-security-fixes|immutable-releases|code-security-configuration|code-scanning|code-quality|"
            r"secret-scanning|dependabot|security-advisories|autolinks|pages|import|notifications|subscription|copilot|"
            r"codespaces)(/.*)?", "read-sensitive", ""),
    ("GET", r"/branches/\{branch\}/protection(/.*)?", "read-sensitive", ""),
    # What closes a review.
    ("PUT", r"/pulls/\{pull_number\}/(merge|merge-async)", "merge", ""),
    (WRITES, r"/stacks(/.*)?", "merge", ""),
    ("POST", r"/merges", "merge", ""),
    ("POST", r"/pulls/\{pull_number\}/reviews", "review", "review"),
    ("POST", r"/pulls/\{pull_number\}/reviews/\{review_id\}/events", "review", "review"),
    (WRITES, r"/pulls/\{pull_number\}/reviews/.*", "review", ""),
    # Refs.
    ("DELETE", r"/git/refs/\{ref\}", "delete", "ref_delete"),
    ("PATCH", r"/git/refs/\{ref\}", "force-ref", "ref_update"),
    ("POST", r"/git/refs", "ref-write", "ref_create"),
    ("PUT|DELETE", r"/contents/\{path\}", "ref-write", "contents"),
    ("POST", r"/(merge-upstream|branches/\{branch\}/rename)", "ref-write", ""),
    ("PUT", r"/pulls/\{pull_number\}/update-branch", "ref-write", ""),
    ("POST", r"/code-scanning/alerts/[^/]+/autofix/commits", "ref-write", ""),
    (WRITES, r"/import(/.*)?", "ref-write", ""),
    # Workflows, settings, outputs.
    ("POST", r"/actions/(runs|jobs)/.*", "workflow", ""),
    ("PUT|POST", r"/actions/workflows/.*", "workflow", ""),
    ("POST", r"/(dispatches|check-runs/[^/]+/rerequest|check-suites/[^/]+/rerequest)", "workflow", ""),
    ("DELETE", r"/actions/(runs|artifacts|caches)(/.*)?", "ci-evidence", ""),
    ("DELETE", r"/code-scanning/(analyses|codeql)(/.*)?", "ci-evidence", ""),
    (WRITES, r"/(branches/\{branch\}/protection(/.*)?|rulesets(/.*)?|environments/.*|actions/(permissions|oidc|cache)(/.*)?|"
             r"interaction-limits(/.*)?|properties/values|private-vulnerability-reporting|vulnerability-alerts|"
             r"automated-security-fixes|immutable-releases|code-scanning/default-setup|code-quality/setup|topics|"
             r"check-suites/preferences|autolinks(/.*)?|secret-scanning/custom-patterns(/.*)?)", "protect", ""),
    ("PATCH", r"", "protect", ""),
    ("DELETE", r"", "delete", ""),
    ("POST", r"/releases/generate-notes", "read", ""),
    (WRITES, r"/(releases|pages)(/.*)?", "publish", ""),
    (WRITES, r"/deployments(/.*)?", "deploy", ""),
    ("POST", r"/(statuses/[^/]+|check-runs|check-suites|attestations|code-scanning/sarifs|dependency-graph/snapshots)", "ci-result", ""),
    ("PATCH", r"/check-runs/[^/]+", "ci-result", ""),
    (WRITES, r"/(code-scanning|secret-scanning|dependabot|security-advisories)/.*", "alert", ""),
    ("POST", r"/security-advisories", "alert", ""),
    (WRITES, r"/(codespaces|agents|pulls/\{pull_number\}/codespaces)(/.*)?", "agent", ""),
    # Beyond the repository.
    ("POST", r"/(transfer|forks|generate)", "cross-repo", ""),
    (WRITES, r"/issues/\{issue_number\}/(sub_issues?|dependencies)(/.*)?", "cross-repo", ""),
    (WRITES, r"/(notifications|subscription)", "cross-repo", ""),
    # Work.
    ("POST", r"/pulls", "write.pull_request", "pull_create"),
    ("PATCH", r"/pulls/\{pull_number\}", "write.pull_request", "pull_edit"),
    (WRITES, r"/pulls/(comments/.*|\{pull_number\}/(comments(/.*)?|requested_reviewers))", "write.pull_request", ""),
    (WRITES, r"/(issues/\{issue_number\}/labels|labels)(/.*)?", "write.label", ""),
    (WRITES, r"/milestones(/.*)?", "write.milestone", ""),
    (WRITES, r"/issues(/.*)?", "write.issue", ""),
    (WRITES, r"/(comments/.*|commits/\{commit_sha\}/comments)", "write.comment", ""),
    ("POST", r"/git/(blobs|trees|commits|tags)", "write.git_object", ""),
    ("GET", r"(|/(actions/(artifacts|caches|concurrency_groups|jobs|runs|workflows)|activity|assignees|attestations|branches|"
            r"check-runs|check-suites|codeowners|comments|commits|community|compare|contents|contributors|dependency-graph|"
            r"deployments|events|forks|git|hash-algorithm|issue-types|issues|labels|languages|license|milestones|pulls|readme|"
            r"releases|rules|stacks|stargazers|stats|statuses|subscribers|tags|tarball|topics|zipball)(/.*)?)", "read", ""),
]

# Operations outside any one repository. What is not read-host is never granted by a repository's entry, save
# read-outside; the class is for reports and refusals.
HOST = [
    ("GET", r"/(rate_limit|meta|emojis|zen|octocat|versions|licenses(/.*)?|gitignore/.*|codes_of_conduct(/.*)?)?", "read-host", ""),
    ("POST", r"/markdown(/raw)?", "read-host", ""),
    (WRITES, r"/(applications/.*/token.*|app/installations/[^/]+/access_tokens|credentials/revoke|installation/token|"
             r"app-manifests/.*|applications/.*/grant)", "token", ""),
    (WRITES, r".*/(registration-token|remove-token|generate-jitconfig)", "token", ""),
    ("POST|DELETE", r"/orgs/[^/]+/(personal-access-token.*|credential-authorizations.*)", "token", ""),
    (WRITES, r".*/(secrets|variables|hooks?|runners|runner-groups|keys|gpg_keys|ssh_signing_keys|members?|memberships|"
             r"invitations|teams|outside_collaborators|organization-roles|public_members|blocks|hosted-runners|"
             r"network-configurations|installations|invitation)(/.*)?", "admin", ""),
    (WRITES, r"/teams(/.*)?", "admin", ""),
    (WRITES, r"/(orgs|enterprises)/.*/(rulesets|properties|actions|security|code-security|custom-properties|"
             r"interaction-limits|immutable-releases|secret-scanning|settings|dependabot)(/.*)?", "protect", ""),
    (WRITES, r"/(orgs|enterprises)/.*/(campaigns|security-advisories|bypass.*)(/.*)?", "alert", ""),
    (WRITES, r".*/(packages|artifacts)(/.*)?", "publish", ""),
    (WRITES, r".*/(codespaces|copilot|agents|agent-tasks)(/.*)?", "agent", ""),
    (WRITES, r"/orgs/[^/]+/attestations(/.*)?", "ci-evidence", ""),
    ("DELETE", r"/orgs/[^/]+", "delete", ""),
    ("PATCH", r"/orgs/[^/]+", "protect", ""),
    (WRITES, r"/(user|users|orgs|organizations|enterprises|gists|notifications|app|agents|installation)(/.*)?", "cross-repo", ""),
    ("GET", r"/(advisories|agents|app|apps|assignments|classrooms|enterprises|events|feeds|gists|installation|issues|"
            r"marketplace_listing|networks|notifications|organizations|orgs|repositories|search|teams|user|users)(/.*)?", "read-outside", ""),
]

BODY = {"": "kNone", "review": "kReview", "pull_create": "kPullCreate", "pull_edit": "kPullEdit", "contents": "kContents",
        "ref_create": "kRefCreate", "ref_update": "kRefUpdate", "ref_delete": "kRefDelete", "graphql": "kGraphql"}

# Served although the description does not list it.
EXTRA = [("POST", "/graphql", "graphql", "graphql")]


def parameters(document, item, operation):
    found = {}
    for entry in item.get("parameters", []) + operation.get("parameters", []):
        if "$ref" in entry:
            entry = document["components"]["parameters"][entry["$ref"].rsplit("/", 1)[1]]
        if entry.get("in") == "path":
            found[entry["name"]] = entry
    return found


def pattern_of(path, known):
    def mark(match):
        name = match.group(1)
        entry = known.get(name, {})
        if path.startswith(REPO) and name in ("owner", "repo"):
            return match.group(0)
        if name == "basehead" or match.group(0) != match.string:
            return "{basehead...}" if "basehead" in name else "{x}"
        if entry.get("x-multi-segment") or name in SPANNING:
            return "{x...}"
        return "{n}" if entry.get("schema", {}).get("type") == "integer" else "{x}"

    return "/".join(re.sub(r"^\{(\w+)\}$", mark, part) if part.count("{") < 2 else "{basehead...}" for part in path.split("/"))


def classify(method, path):
    inside = path.startswith(REPO)
    rest = path[len(REPO):] if inside else path
    for methods, pattern, effect, body in REPOSITORY if inside else HOST:
        if method in methods.split("|") and re.fullmatch(pattern, rest):
            return effect, body
    return None


def rows_of(document):
    rows, unknown = {}, []
    for path, item in document["paths"].items():
        path = path.replace("/repos/{template_owner}/{template_repo}", REPO)
        for method in METHODS:
            if method not in item:
                continue
            found = classify(method.upper(), path)
            if found is None:
                unknown.append(f"{method.upper()} {path}")
                continue
            rows.setdefault((pattern_of(path, parameters(document, item, item[method])), method.upper()), found)
    for method, path, effect, body in EXTRA:
        rows[(path, method)] = (effect, body)
    # Contents of the root: the description has only the form with a path.
    rows[(REPO + "/contents", "GET")] = ("read", "")
    return rows, unknown


def lines_of(rows):
    for (path, method), (effect, body) in sorted(rows.items()):
        if path != "/":
            yield f'ROW(kGithub, "{method}", "{path}", "{effect}", {BODY[body]})'


def main():
    document = json.load(open(sys.argv[1], encoding="utf-8"))
    rows, unknown = rows_of(document)
    for name in unknown:
        print(f"not classified, left out: {name}", file=sys.stderr)
    lines = list(lines_of(rows))
    if len(sys.argv) > 3 and sys.argv[2] == "--compare":
        old = {line.strip() for line in open(sys.argv[3], encoding="utf-8") if line.startswith("ROW")}
        for line in sorted(set(lines) - old):
            print("new:", line)
        for line in sorted(old - set(lines)):
            print("gone:", line)
        return 1 if old != set(lines) or unknown else 0
    print("// Made by tools/github_catalogue.py from the public description, version", document["info"]["version"] + ". Do not edit.")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
