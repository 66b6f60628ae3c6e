// reader prints what KubeVirt's own code finds in the metadata files of a container.
//
//	reader FOLDER NAME/CLAIM/REQUEST...
//
// FOLDER is a copy of the folder that the code reads in a container. Each argument is what a VM's spec says of one device:
// the name of the claim in the spec, the ResourceClaim (nothing between the slashes: the claim is of a template), and the
// request. For each it prints a line of JSON. Built with go.mod, the code is KubeVirt 1.9's; with
// -modfile=kubevirt-1.8.mod -tags kubevirt18, it is 1.8's.
package main

import (
	"encoding/json"
	"log"
	"os"
	"strings"

	"kubevirt.io/kubevirt/pkg/dra"
)

type found struct {
	Argument string `json:"argument"`
	PCIBusID string `json:"pciBusID,omitempty"`
	MdevUUID string `json:"mdevUUID,omitempty"`
	PCIError string `json:"pciError,omitempty"`
	MdevErr  string `json:"mdevError,omitempty"`
}

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: reader FOLDER NAME/CLAIM/REQUEST...")
	}
	for _, argument := range os.Args[2:] {
		words := strings.Split(argument, "/")
		if len(words) != 3 {
			log.Fatalf("%s is not NAME/CLAIM/REQUEST", argument)
		}
		one := found{Argument: argument}
		claims := claimsOf(words[0], words[1])
		var err error
		if one.PCIBusID, err = dra.GetPCIAddressForClaim(os.Args[1], claims, words[0], words[2]); err != nil {
			one.PCIError = err.Error()
		}
		if one.MdevUUID, err = dra.GetMDevUUIDForClaim(os.Args[1], claims, words[0], words[2]); err != nil {
			one.MdevErr = err.Error()
		}
		if err := json.NewEncoder(os.Stdout).Encode(one); err != nil {
			log.Fatal(err)
		}
	}
}
