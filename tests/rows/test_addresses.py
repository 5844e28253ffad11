"""Addresses: recognition, and display without secrets."""

import pytest

from coterie.rows.remote import has_hidden_parts, is_address, name_of, protocol_of, without_secrets


@pytest.mark.parametrize(
    ("path", "protocol", "name"),
    [
        ("s3://bucket/some/x.parquet", "s3", "x.parquet"),
        ("S3://bucket/some/", "s3", "some"),
        ("https://host/x.npy?a=b/c.csv#d", "https", "x.npy"),
        ("gs://bucket/what?.npy", "gs", "what?.npy"),
        ("hf://datasets/me/set@main/x.parquet", "hf", "x.parquet"),
        ("abfss://box@account.dfs.core.windows.net/x.npy", "abfss", "x.npy"),
    ],
)
def test_addresses(path, protocol, name):
    assert is_address(path)
    assert (protocol_of(path), name_of(path)) == (protocol, name)


@pytest.mark.parametrize(
    "path", ["x.npy", "/x/y.npy", "a/b://c.npy", "x.h5::data", r"C:\x.npy", "s3:/x.npy", "://x"]
)
def test_paths_are_no_addresses(path):
    assert not is_address(path)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://host/x.npy?X-Amz-Signature=abc&y=1", "https://host/x.npy?..."),
        ("404, url='https://host/x.npy?sig=abc', so", "404, url='https://host/x.npy?...', so"),
        ("ftp://me:word@host/x.npy", "ftp://host/x.npy"),
        ("no x at s3://bucket/x?.npy.", "no x at s3://bucket/x?.npy."),
        ("https://host/me@home/x.npy", "https://host/me@home/x.npy"),
        ("https://me:a/b@c", "https://me:a/b@c"),
        ("plain", "plain"),
    ],
)
def test_shown_addresses_have_no_secrets(text, shown):
    assert without_secrets(text) == shown
    assert has_hidden_parts(shown) == (shown.startswith("http") and shown.endswith("?..."))


def test_options_that_are_shown_nowhere():
    options = {
        "key": "AKIA123",
        "secret": "AKIA123-and-more",
        "endpoint_url": "http://host",
        "client_kwargs": {"password": "longer-word", "region_name": "eu-west-1"},
        "token": "abc",  # too short: it would be found in other words
        "headers": {"Authorization": "Bearer xyz"},
    }
    text = "AKIA123-and-more AKIA123 http://host longer-word eu-west-1 abc Bearer xyz"
    assert without_secrets(text, options) == "*** *** http://host *** eu-west-1 abc ***"
