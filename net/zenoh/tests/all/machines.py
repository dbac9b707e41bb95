"""Two machines on this computer, and a wire between them that loses, delays and limits what goes over it.

Each machine is a network namespace with the device `wire`, 10.77.0.1 and 10.77.0.2. The packets of one
go to the other through this program, by what the last line of its standard input says, in JSON:
`loss` (share of packets), `delay_ms`, `rate_mbit` (each way; 0: no limit) and `is_cut`. It prints the
process of each machine first, and ends with its standard input.
"""

import ctypes
import fcntl
import heapq
import json
import os
import random
import select
import socket
import struct
import subprocess
import sys
import time

CLONE_NEWNET = 0x40000000
TUNSETIFF = 0x400454CA
IFF_TUN_NO_PI = 0x1001
PACKET_MAX = 65536
# Packets that wait for a slow wire: more are lost, as at a switch.
WAITING_MAX = 1000


def machine(number):
    """Makes a machine in a process of its own. Gives the process and the end of its wire."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    process = os.fork()
    if process:
        theirs.close()
        _, ends, _, _ = socket.recv_fds(ours, 1, 1)
        return process, ends[0], ours
    ours.close()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "a network of its own")
    end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH22x", b"wire", IFF_TUN_NO_PI))
    for command in (
        "ip link set lo up",
        f"ip address add 10.77.0.{number}/24 dev wire",
        "ip link set wire up",
    ):
        subprocess.run(command.split(), check=True)
    socket.send_fds(theirs, [b"!"], [end])
    # Until the other end goes.
    theirs.recv(1)
    os._exit(0)


class Way:
    """One direction of the wire."""

    def __init__(self, source, target):
        self.source, self.target = source, target
        self.waiting, self.free_at, self.number = [], 0.0, 0

    def take(self, quality, dice):
        try:
            packet = os.read(self.source, PACKET_MAX)
        except BlockingIOError:
            return
        if quality["is_cut"] or dice.random() < quality["loss"] or len(self.waiting) >= WAITING_MAX:
            return
        now, rate = time.monotonic(), quality["rate_mbit"] * 1e6
        self.free_at = max(now, self.free_at) + (len(packet) * 8 / rate if rate else 0)
        self.number += 1
        heapq.heappush(self.waiting, (self.free_at + quality["delay_ms"] / 1e3, self.number, packet))

    def give(self):
        """Hands on what is due. Gives the seconds until the next one is; `None`: there is none."""
        while self.waiting:
            left = self.waiting[0][0] - time.monotonic()
            if left > 0:
                return left
            try:
                os.write(self.target, heapq.heappop(self.waiting)[2])
            except OSError:
                pass
        return None


def main():
    machines = [machine(number) for number in (1, 2)]
    print(json.dumps([process for process, _, _ in machines]), flush=True)
    (_, left, _), (_, right, _) = machines
    ways = [Way(left, right), Way(right, left)]
    quality = {"loss": 0.0, "delay_ms": 0.0, "rate_mbit": 0.0, "is_cut": False}
    # The same packets are lost in each run, as far as the same ones come.
    dice = random.Random(1)
    orders = b""
    while True:
        lefts = [left for left in (way.give() for way in ways) if left is not None]
        ready, _, _ = select.select([0, left, right], [], [], min(lefts, default=None))
        for way in ways:
            if way.source in ready:
                way.take(quality, dice)
        if 0 in ready:
            more = os.read(0, PACKET_MAX)
            if not more:
                return
            *lines, orders = (orders + more).split(b"\n")
            for line in lines:
                quality = json.loads(line)


if __name__ == "__main__":
    sys.exit(main())
