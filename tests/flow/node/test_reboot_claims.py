"""Row 24 of the fault matrix: the node boots anew while devices are claimed, with other IOMMU groups.

The tests that follow run on the machine of the last boot.
"""

import pytest

from claims import NIC, PAIR
from cluster import wait_until

LENT = "vfio-pci", "vfio-pci"  # driver and override
# Every group behind them gets a number that it had in no other boot of these tests.
BEFORE_ALL = ("edu,id=extra-edu,bus=pcie.0,addr=09.0", "edu,id=extra-edu2,bus=pcie.0,addr=0a.0")


@pytest.mark.parametrize("devices, kept", [(BEFORE_ALL, True), ((), False)], ids=["state-kept", "state-lost"])
def test_row_24_a_node_boots_anew_with_claims(booted, claims, devices, kept):
    before = claims.bind(NIC)
    claims.bind(PAIR[0], includeIOMMUGroup=True)
    booted.boot_with(devices, kept)
    for address in (NIC, *PAIR):
        claims.wait_drivers(address, *LENT)
    group = claims.function(NIC).group()
    assert group != before["status"]["iommuGroup"], "the second boot has the groups of the first"
    for address in (NIC, PAIR[0]):
        wait_until(lambda: claims.now(address)["status"]["iommuGroup"] == claims.function(address).group(),
                   30, "the group of this boot")
        assert claims.wait_ready(address)["status"]["passthroughEnabled"] is True
    claims.release(NIC, PAIR[0])
    assert claims.function(NIC).drivers() == ("e1000e", None)
    assert [claims.function(address).drivers() for address in PAIR] == [("8139cp", None)] * 2
