import assert from "node:assert/strict";
import { test } from "node:test";
import { isPublicAddress, mayBePublic } from "../../src/util/public-address.ts";

const PUBLIC = [
  "8.8.8.8",
  "1.1.1.1",
  "100.63.255.255",
  "100.128.0.0",
  "172.15.0.1",
  "172.32.0.1",
  "2606:4700::1111",
];

/** From IANA's special-purpose registries (RFC 6890), and addresses that embed an IPv4 address. */
const OTHERS: Record<string, string[]> = {
  "this machine": ["127.0.0.1", "127.255.255.254", "::1"],
  unspecified: ["0.0.0.0", "0.1.2.3", "::"],
  private: ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fd12:3456::1"],
  "a carrier's": ["100.64.0.1", "100.127.255.255"],
  "the platform of a cloud": ["168.63.129.16"],
  "a link's": ["169.254.169.254", "fe80::1", "fe80::1%eth0", "fec0::1"],
  multicast: ["224.0.0.1", "239.255.255.255", "ff02::1"],
  broadcast: ["255.255.255.255"],
  benchmarking: ["198.18.0.1", "198.19.255.255", "2001:2::1"],
  documentation: ["192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"],
  reserved: ["192.0.0.1", "240.0.0.1", "100::1", "5f00::1", "4000::1"],
  "mapped to IPv6": ["::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:0:7f00:1", "::127.0.0.1"],
  translated: ["64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1"],
  tunnelled: ["2002:7f00:1::1", "2001:0:7f00:1::1"],
  "no address": ["", "localhost", "127.1", "0x7f.1", "1.2.3.4.5", "example.com", "[::1]"],
};

test("public addresses are public", () => {
  for (const address of PUBLIC) assert.ok(isPublicAddress(address), address);
});

for (const [kind, addresses] of Object.entries(OTHERS)) {
  test(`${kind} is not public`, () => {
    for (const address of addresses) assert.ok(!isPublicAddress(address), address);
  });
}

test("the host of a URL is checked in every spelling", () => {
  for (const host of [
    ...["127.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "127.0.0.1.", "%31%32%37.0.0.1"],
    ...[
      "①②⑦.0.0.1",
      "0",
      "[::1]",
      "[::ffff:127.0.0.1]",
      "[::ffff:7f00:1]",
      "[64:ff9b::7f00:1]",
      "[2002:7f00:1::]",
    ],
    ...["localhost", "LOCALHOST", "localhost.", "a.localhost", "a.b.localhost.", "[fd00::1]", "3232235777"],
  ]) {
    assert.ok(!mayBePublic(new URL(`https://${host}/`).hostname), host);
  }
  for (const host of [
    "example.com",
    "8.8.8.8",
    "134744072",
    "[2606:4700::1111]",
    "notlocalhost",
    "localhost.example",
  ])
    assert.ok(mayBePublic(new URL(`https://${host}/`).hostname), host);
});
