"""A stand-in for GitHub's GraphQL API: it runs real documents against a small world of data, and knows no field that is not in it."""
import json
import re

TOKEN = re.compile(r'[\s,]+|#[^\n]*|(\.\.\.|[!$&()=:@\[\]{|}]|"(?:[^"\\\n]|\\.)*"|-?\d[\d.eE+-]*|[_A-Za-z]\w*)')


class Document:
    """Just enough of the language for what real clients send."""

    def __init__(self, text, variables):
        self.tokens, self.variables, self.fragments = [t for t in TOKEN.findall(text) if t], variables, {}
        self.kind, self.selections = None, None
        while self.tokens:
            if self.peek() == "fragment":
                self.take(), (name := self.take()), self.take("on"), self.take()
                self.fragments[name] = self.block()
                continue
            self.kind = self.take() if self.peek() in ("query", "mutation") else "query"
            while self.peek() != "{":
                self.skip_group() if self.peek() == "(" else self.take()
            self.selections = self.block()

    def peek(self):
        return self.tokens[0]

    def take(self, wanted=None):
        token = self.tokens.pop(0)
        assert wanted is None or token == wanted, (token, wanted)
        return token

    def skip_group(self):
        depth = 0
        while True:
            depth += {"(": 1, ")": -1}.get(self.take(), 0)
            if not depth:
                return

    def value(self):
        token = self.take()
        if token == "$":
            return self.variables.get(self.take())
        if token == "[":
            out = []
            while self.peek() != "]":
                out.append(self.value())
            self.take()
            return out
        if token == "{":
            out = {}
            while self.peek() != "}":
                name = self.take()
                self.take(":")
                out[name] = self.value()
            self.take()
            return out
        return json.loads(token) if token[0] in '"-0123456789' or token in ("true", "false", "null") else token

    def arguments(self):
        out = {}
        if self.peek() == "(":
            self.take()
            while self.peek() != ")":
                name = self.take()
                self.take(":")
                out[name] = self.value()
            self.take()
        return out

    def block(self):
        out = []
        self.take("{")
        while self.peek() != "}":
            if self.peek() == "...":
                self.take()
                if self.peek() == "on":
                    self.take(), (kind := self.take())
                    out.append(("inline", kind, {}, self.block()))
                else:
                    out.append(("spread", self.take(), {}, None))
                continue
            key = name = self.take()
            if self.peek() == ":":
                self.take(), (name := self.take())
            arguments = self.arguments()
            out.append((key, name, arguments, self.block() if self.peek() == "{" else None))
        self.take()
        return out


def run(document, selections, thing):
    if thing is None:
        return None
    if isinstance(thing, list):
        return [run(document, selections, item) for item in thing]
    out = {}
    for key, name, arguments, inner in selections:
        if key == "spread":
            out |= run(document, document.fragments[name], thing)
        elif key == "inline":
            if thing.get("__typename") == name:
                out |= run(document, inner, thing)
        else:
            if name not in thing:
                raise KeyError(f"Field '{name}' doesn't exist on type '{thing.get('__typename')}'")
            found = thing[name](**arguments) if callable(thing[name]) else thing[name]
            out[key] = run(document, inner, found) if inner else found
    return out


def many(*items):
    return lambda **_: {"__typename": "Connection", "nodes": list(items), "totalCount": len(items), "edges": [{"node": i} for i in items],
                        "pageInfo": {"hasNextPage": False, "endCursor": ""}}


def user(login):
    return {"__typename": "User", "id": "U_" + login, "login": login, "name": login}


class Forge:
    """One repository, and the secrets of another. `asked` are the names of the fields that mutations ran."""

    def __init__(self, name="acme/web"):
        self.name, self.asked, self.pulls, self.issues = name, [], [], []
        self.add_pull("First change", "agent/one")
        self.add_issue("It does not work")

    def number(self):
        return len(self.pulls) + len(self.issues) + 1

    def url(self, kind, number):
        return f"https://forge.example/{self.name}/{kind}/{number}"

    def common(self, kind, title, body, number):
        return {"id": f"{kind}_{number}", "number": number, "title": title, "body": body, "state": "OPEN", "stateReason": None, "closed": False, "author": user("agent"),
                "createdAt": "2026-11-01T00:00:00Z", "updatedAt": "2026-11-01T00:00:00Z", "closedAt": None, "labels": many(), "assignees": many(),
                "milestone": None, "comments": many(), "reactionGroups": [], "projectCards": many(), "isPinned": False,
                "url": self.url("pull" if kind == "PR" else "issues", number)}

    def add_pull(self, title, head, body="", **_):
        number = self.number()
        self.pulls.append({"__typename": "PullRequest", **self.common("PR", title, body, number), "isDraft": False, "merged": False, "mergedAt": None, "mergedBy": None,
                           "headRefName": head, "baseRefName": "main", "isCrossRepository": False, "maintainerCanModify": False, "mergeable": "MERGEABLE",
                           "mergeStateStatus": "CLEAN", "additions": 1, "deletions": 0, "changedFiles": 1, "headRepositoryOwner": user(self.name.split("/")[0]),
                           "headRepository": {"__typename": "Repository", "id": "R_1", "name": "web"}, "reviewDecision": "", "reviewRequests": many(),
                           "reviews": many(), "latestReviews": many(), "headRefOid": "1" * 40, "autoMergeRequest": None,
                           "commits": lambda **_: {"totalCount": 1, "nodes": [{"commit": {"oid": "1" * 40, "statusCheckRollup": None}}]}})
        return self.pulls[-1]

    def add_issue(self, title, body=""):
        self.issues.append({"__typename": "Issue", **self.common("I", title, body, self.number())})
        return self.issues[-1]

    def pick(self, number):
        return next((x for x in self.pulls + self.issues if x["number"] == number), None)

    def repository(self, owner, name, **_):
        if f"{owner}/{name}".lower() != self.name:
            return {"__typename": "Repository", "id": "R_2", "name": name, "description": "the other's secret", "owner": user(owner)}
        return {"__typename": "Repository", "id": "R_1", "name": "web", "nameWithOwner": self.name, "owner": user("acme"), "isPrivate": True, "description": "a shop",
                "hasIssuesEnabled": True, "hasWikiEnabled": False, "viewerPermission": "WRITE", "parent": None, "isArchived": False, "url": f"https://forge.example/{self.name}",
                "mergeCommitAllowed": True, "rebaseMergeAllowed": True, "squashMergeAllowed": True, "isInOrganization": True, "isBlankIssuesEnabled": True,
                "defaultBranchRef": {"name": "main", "target": {"oid": "2" * 40}}, "issueTemplates": [], "pullRequestTemplates": [], "deleteBranchOnMerge": False,
                "pullRequest": lambda number, **_: self.pick(number), "issue": lambda number, **_: self.pick(number),
                "issueOrPullRequest": lambda number, **_: self.pick(number),
                "pullRequests": lambda headRefName=None, **_: many(*[p for p in self.pulls if headRefName in (None, p["headRefName"])])(),
                "issues": lambda **_: many(*self.issues)(), "labels": many({"id": "L_1", "name": "bug"}), "assignableUsers": many(), "milestones": many(), "projects": many()}

    def root(self, kind):
        types = lambda name: {"name": name, "fields": lambda **_: [], "enumValues": lambda **_: [], "inputFields": []}
        if kind == "query":
            return {"__typename": "Query", "repository": self.repository, "viewer": user("agent"), "__type": types, "node": lambda id: {"__typename": "Node", "id": id},
                    "rateLimit": {"limit": 5000, "remaining": 4999}}

        def mutation(name, act):
            def field(input):
                self.asked.append(name)
                return act(input)
            return field
        done = lambda input: {"clientMutationId": None, "pullRequest": self.pulls[0]}
        acts = {"createPullRequest": lambda i: {"pullRequest": self.add_pull(i["title"], i["headRefName"], i.get("body", ""))},
                "createIssue": lambda i: {"issue": self.add_issue(i["title"], i.get("body", ""))},
                "addComment": lambda i: {"commentEdge": {"node": {"url": self.url("issues", 2) + "#c1"}}}}
        for name in ("mergePullRequest", "enablePullRequestAutoMerge", "markPullRequestReadyForReview", "addPullRequestReview", "updateRefs"):
            acts[name] = done
        return {"__typename": "Mutation", **{name: mutation(name, act) for name, act in acts.items()}}

    def answer(self, body):
        asked = json.loads(body)
        document = Document(asked["query"], asked.get("variables") or {})
        try:
            return {"data": run(document, document.selections, self.root(document.kind))}
        except KeyError as e:
            return {"errors": [{"message": str(e.args[0])}]}

    def serve(self, exchange):
        body = json.dumps(self.answer(bytes(exchange.read_body()))).encode()
        exchange.reply("200 OK", body, [("Content-Type", "application/json; charset=utf-8"), ("X-OAuth-Scopes", "repo, read:org")])
