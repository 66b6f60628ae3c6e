module hostdev/tests/fake/faultproxy

go 1.21
