module hostdev/tests/flow/kubevirt_schemas

go 1.21
