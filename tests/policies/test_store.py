"""A policy's folder and its manifest: where they are, and what its prompts become."""

from __future__ import annotations

from rlvr.files import publish_json
from rlvr.policies import store


def test_a_manifest_behind_a_link_finds_a_policy_elsewhere(policy, tmp_path):
    sums = store.save(policy, tmp_path / "model")
    (tmp_path / "disk/a/b").mkdir(parents=True)
    (tmp_path / "results").symlink_to(tmp_path / "disk/a/b")
    manifest = tmp_path / "results/models/mine/manifest.json"
    publish_json(manifest, store.entries_of(manifest, tmp_path / "model", sums, policy.template))
    assert store.locate(manifest).location == str(tmp_path / "model")
    assert store.locate(manifest.resolve()).location == str(tmp_path / "model")
