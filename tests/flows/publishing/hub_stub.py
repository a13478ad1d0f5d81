"""A fake hub on loopback: the part of Hugging Face's HTTP API for uploading a dataset, with its errors."""

import base64
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from aiohttp import web

from tests.models.scenes import serving

TOKEN = "hub_token"
LFS = (".parquet", ".gz")


@dataclass
class Repository:
    private: bool
    files: dict[str, bytes] = field(default_factory=lambda: {".gitattributes": b""})
    commits: list[str] = field(default_factory=lambda: ["initial"])

    @property
    def sha(self) -> str:
        return hashlib.sha1("".join(self.commits).encode()).hexdigest()


@dataclass
class Hub:
    repositories: dict[str, Repository] = field(default_factory=dict)
    large: dict[str, bytes] = field(default_factory=dict)
    """SHA-256 -> content that was uploaded outside of commits."""
    url: str = ""

    def make_app(self) -> web.Application:
        app = web.Application(middlewares=[self.check_token], client_max_size=1 << 26)
        one = "/api/datasets/{owner}/{name}"
        app.add_routes(
            [
                web.post("/api/repos/create", self.create),
                web.post("/api/validate-yaml", self.validate),
                web.get(one, self.describe),
                web.get(one + "/revision/{revision}", self.describe),
                web.get(one + "/tree/{revision}", self.list_tree),
                web.post(one + "/preupload/{revision}", self.choose_ways),
                web.post(one + "/commit/{revision}", self.commit),
                web.post("/datasets/{owner}/{name}.git/info/lfs/objects/batch", self.begin_large),
                web.put("/large/{oid}", self.put_large),
                web.get("/datasets/{owner}/{name}/resolve/{revision}/{path:.+}", self.resolve),
            ]
        )
        return app

    @web.middleware
    async def check_token(self, request: web.Request, handler):
        if request.path.startswith("/large/") or request.headers.get("Authorization") == f"Bearer {TOKEN}":
            return await handler(request)
        return web.json_response({"error": "Invalid username or password."}, status=401)

    def find(self, request: web.Request) -> Repository:
        return self.repositories["{owner}/{name}".format(**request.match_info)]

    async def create(self, request: web.Request) -> web.Response:
        asked = await request.json()
        assert asked["type"] == "dataset"
        name = f"{asked['organization']}/{asked['name']}"
        told = {"url": f"{self.url}/datasets/{name}"}
        if name in self.repositories:
            return web.json_response({**told, "error": "You already created this dataset repo"}, status=409)
        self.repositories[name] = Repository(
            asked["visibility"] == "private" if "visibility" in asked else asked["private"]
        )
        return web.json_response(told)

    async def validate(self, request: web.Request) -> web.Response:
        asked = await request.json()
        said = [] if "license:" in asked["content"] else [{"message": '"license" is missing'}]
        return web.json_response({"errors": said, "warnings": []}, status=400 if said else 200)

    async def describe(self, request: web.Request) -> web.Response:
        own = self.find(request)
        files = [{"rfilename": name} for name in own.files]
        name = "{owner}/{name}".format(**request.match_info)
        return web.json_response({"id": name, "sha": own.sha, "private": own.private, "siblings": files})

    async def list_tree(self, request: web.Request) -> web.Response:
        files = self.find(request).files.items()
        return web.json_response(
            [{"type": "file", "path": name, "size": len(body), "oid": "0" * 40} for name, body in files]
        )

    async def choose_ways(self, request: web.Request) -> web.Response:
        asked = await request.json()
        ways = [
            {
                "path": file["path"],
                "uploadMode": "lfs" if file["path"].endswith(LFS) else "regular",
                "shouldIgnore": False,
            }
            for file in asked["files"]
        ]
        return web.json_response({"files": ways})

    async def begin_large(self, request: web.Request) -> web.Response:
        asked = await request.json()
        objects = [
            {**listed_object, "actions": {"upload": {"href": f"{self.url}/large/{listed_object['oid']}"}}}
            for listed_object in asked["objects"]
        ]
        return web.json_response({"transfer": "basic", "objects": objects})

    async def put_large(self, request: web.Request) -> web.Response:
        body = await request.read()
        assert hashlib.sha256(body).hexdigest() == request.match_info["oid"]
        self.large[request.match_info["oid"]] = body
        return web.Response()

    async def commit(self, request: web.Request) -> web.Response:
        own = self.find(request)
        lines = [json.loads(line) for line in (await request.text()).splitlines()]
        head = next(line["value"] for line in lines if line["key"] == "header")
        if head.get("parentCommit") != own.sha:
            return web.json_response({"error": "A commit has happened since."}, status=412)
        for line in lines:
            value = line["value"]
            if line["key"] == "file":
                own.files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                own.files[value["path"]] = self.large[value["oid"]]
            elif line["key"] == "deletedFile":
                del own.files[value["path"]]
        own.commits.append(head["summary"])
        return web.json_response(
            {
                "commitUrl": f"{self.url}{request.path.removeprefix('/api')}".replace("/main", f"/{own.sha}"),
                "commitOid": own.sha,
                "success": True,
            }
        )

    async def resolve(self, request: web.Request) -> web.Response:
        own = self.find(request)
        body = own.files[request.match_info["path"]]
        tag = hashlib.sha1(body).hexdigest()
        return web.Response(body=body, headers={"ETag": f'"{tag}"', "X-Repo-Commit": own.sha})


@contextmanager
def serving_hub() -> Iterator[Hub]:
    hub = Hub()
    with serving(hub.make_app()) as url:
        hub.url = url.removesuffix("/v1")
        yield hub
