package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// told is one line of output: a list that came, or the answer to a question.
type told struct {
	At       int64    `json:"at,omitempty"`
	Resource string   `json:"resource,omitempty"`
	Devices  int      `json:"devices"`
	Healthy  int      `json:"healthy"`
	Took     []int64  `json:"took,omitempty"`
	IDs      []string `json:"ids,omitempty"` // of the last preferred allocation
	Error    string   `json:"error,omitempty"`
}

// serve plays the kubelet for whoever registers, and prints each list as it comes. For each line on
// standard input it makes calls, one after the other, and prints how long each took:
//
//	allocate CALLS RESOURCE ID...		of these devices, for one container
//	prefer CALLS RESOURCE SIZE ID...	SIZE of these devices
func serve(k *kubelet) {
	var lock sync.Mutex
	out := json.NewEncoder(os.Stdout)
	say := func(t told) {
		lock.Lock()
		defer lock.Unlock()
		check(out.Encode(t))
	}
	go func() {
		for range k.registered { // nobody waits for these
		}
	}()
	go func() {
		for l := range k.lists {
			t := told{At: l.at, Resource: l.resource, Devices: len(l.devices)}
			for _, d := range l.devices {
				if d.Health == plugin.Healthy {
					t.Healthy++
				}
			}
			say(t)
		}
	}()
	for in := bufio.NewReader(os.Stdin); ; {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		say(answer(k, strings.Fields(line)))
	}
}

func answer(k *kubelet, words []string) told {
	calls, err := strconv.Atoi(words[1])
	check(err)
	k.lock.Lock()
	client := k.clients[words[2]]
	k.lock.Unlock()
	if client == nil {
		return told{Error: words[2] + " is not registered"}
	}
	t := told{}
	for range calls {
		began := nowNs()
		if words[0] == "prefer" {
			t.IDs, err = prefer(client, words[3], words[4:])
		} else {
			err = allocateAll(client, words[3:])
		}
		t.Took = append(t.Took, nowNs()-began)
		if err != nil {
			return told{Error: err.Error()}
		}
	}
	return t
}

func prefer(client plugin.DevicePluginClient, size string, ids []string) ([]string, error) {
	n, err := strconv.Atoi(size)
	check(err)
	a, err := client.GetPreferredAllocation(context.Background(), &plugin.PreferredAllocationRequest{
		ContainerRequests: []*plugin.ContainerPreferredAllocationRequest{
			{AvailableDeviceIDs: ids, AllocationSize: int32(n)}}})
	if err != nil {
		return nil, err
	}
	if len(a.ContainerResponses) != 1 || len(a.ContainerResponses[0].DeviceIDs) != n {
		return nil, fmt.Errorf("not %d devices: %v", n, a)
	}
	return a.ContainerResponses[0].DeviceIDs, nil
}

func allocateAll(client plugin.DevicePluginClient, ids []string) error {
	a, err := client.Allocate(context.Background(), &plugin.AllocateRequest{
		ContainerRequests: []*plugin.ContainerAllocateRequest{{DevicesIds: ids}}})
	if err == nil && len(a.ContainerResponses) != 1 {
		err = fmt.Errorf("not one container: %v", a)
	}
	return err
}
