"""Which URLs and addresses are refused before anything is sent."""

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veracity.errors import WebSearchError
from veracity.websearch.addresses import RefusedAddressError, is_public, parse_page_url, refusal_reason

PRIVATE = [
    "0.0.0.0",
    "0.1.2.3",
    "10.1.2.3",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.127.127.127",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::8.8.8.8",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "::ffff:0:127.0.0.1",
    "64:ff9b::127.0.0.1",
    "64:ff9b::8.8.8.8",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:2::1",
    "2001:10::1",
    "2001:db8::1",
    "2002:7f00:1::1",
    "2002:0808:0808::1",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
]
PUBLIC = ["1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.32.0.1", "2606:4700::1111", "2a00:1450:4001::1"]


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses_are_refused(address: str) -> None:
    assert refusal_reason(address, 443) == "its host resolves to an address that is not public"


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_allowed_on_web_ports(address: str) -> None:
    assert refusal_reason(address, 443) == ""
    assert "port" in refusal_reason(address, 22)
    assert "port" in refusal_reason(address, 6379)


def test_invalid_addresses_are_refused() -> None:
    assert refusal_reason("localhost", 80) and refusal_reason("", 80) and refusal_reason("1.2.3", 80)


@given(st.ip_addresses())
def test_public_implies_global_in_ipaddress(address: object) -> None:
    found = ip_address(str(address))
    special = found.is_private or found.is_loopback or found.is_link_local or found.is_multicast or found.is_reserved
    if special or found.is_unspecified or not found.is_global:
        assert not is_public(found)


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "gopher://example.com/_",
        "dict://example.com:6379/SAVE",
        "ftp://example.com/",
        "javascript:alert(1)",
        "data:text/html,hello",
        "jar:http://example.com!/",
        "//example.com/",
        "http:/example.com",
        "http:example.com",
        "http://",
        "http:///path",
        "",
        "http://user@example.com/",
        "http://user:pass@example.com/",
        "http://example.com:80@127.0.0.1/",
        "http://example.com\\@127.0.0.1/",
        "http://127.1.1.1:80\\@@127.2.2.2:80/",
        "http://example.com:0/",
        "http://example.com:99999/",
        "http://example.com:http/",
        "http://[::1/",
        "http://[fe80::1%25eth0]/",
        "http://[::ffff:1.2.3]/",
        "http://exa mple.com/",
        "http://example.com/\r\nHost: other",
        "http://example.com/\x00",
        "http://example.com\t.other.com/",
        "http://2130706433/",
        "http://0/",
        "http://127.1/",
        "http://0177.0.0.1/",
        "http://0x7f.0.0.1/",
        "http://0x7f000001/",
        "http://127.0.0.1.0x0/",
        "http://256.256.256.256/",
        "http://1.2.3.4.5/",
        "http://①②⑦.⓪.⓪.①/",
        "http://127。0。0。1/",
        "http://ⓔⓧⓐⓜⓟⓛⓔ.ⓒⓞⓜ/",
        "http://\u212aing.com/",
        "http://exam%70le.com/",
        "http://example.com%00.other.com/",
        "http://local\u00adhost/",
        "http://loc\u200balhost.com/",
        "http://a..b.com/",
        "http://-a.com/",
        "http://" + "a" * 64 + ".com/",
        "http://" + "a." * 130 + "com/",
        "http://example.com/" + "a" * 3000,
        "http://localhost/",
        "http://LOCALHOST./",
        "http://intern/",
        "http://ip6-localhost/",
        "http://metadata/computeMetadata/",
        "http://metadata.google.internal/",
        "http://printer.local/",
        "http://app.localhost/",
        "http://1.0.0.127.in-addr.arpa/",
        "http://example.com/\ud800",
    ],
)
def test_urls_of_no_public_page_are_refused(url: str) -> None:
    with pytest.raises(RefusedAddressError) as refused:
        parse_page_url(url)
    message = str(refused.value)
    assert (
        message.endswith(".")
        and "\n" not in message
        and len(message) < 300
        and "pass" not in message.replace("password", "").replace("passwd", "")
    )


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("https://Example.COM", "https://example.com/"),
        ("HTTP://example.com:80/a?b=c#d", "http://example.com/a?b=c"),
        ("https://example.com.:8443/", "https://example.com:8443/"),
        ("https://日本語.jp/東京?q=天気", "https://xn--wgv71a119e.jp/%E6%9D%B1%E4%BA%AC?q=%E5%A4%A9%E6%B0%97"),
        ("https://中国.cn/", "https://xn--fiqs8s.cn/"),
        ("https://a_b.example.com/%7Ex/%2561", "https://a_b.example.com/%7Ex/%2561"),
        ('https://example.com/a|b{c}"<d>', "https://example.com/a%7Cb%7Bc%7D%22%3Cd%3E"),
        ("http://8.8.8.8/", "http://8.8.8.8/"),
        ("http://8.8.8.8./", "http://8.8.8.8/"),
        ("http://[2606:4700:0::1111]:8080/", "http://[2606:4700::1111]:8080/"),
    ],
)
def test_urls_are_normalized(url: str, canonical: str) -> None:
    assert parse_page_url(url).url == canonical
    assert parse_page_url(canonical).url == canonical


@given(st.text(max_size=60), st.sampled_from(["http://", "https://", "http://[", "https://a.com:", "//", ""]))
def test_any_text_is_parsed_or_refused(text: str, start: str) -> None:
    try:
        place = parse_page_url(start + text)
    except WebSearchError:
        return
    assert place.url.isascii() and place.scheme in ("http", "https")
    assert parse_page_url(place.url) == place


def test_key_in_a_url_is_not_shown() -> None:
    with pytest.raises(RefusedAddressError) as refused:
        parse_page_url("http://localhost/?api_key=Zq8rT2vXw9LmN4pBc7Jd")
    assert "Zq8r" not in str(refused.value)
