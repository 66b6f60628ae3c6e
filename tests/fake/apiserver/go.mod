module hostdev/tests/fake/apiserver

go 1.21
