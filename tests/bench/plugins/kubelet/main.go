// kubelet measures device plugins from the kubelet's side and prints one JSON object: times in ns of
// CLOCK_MONOTONIC, memory in KiB.
//
//	kubelet [FLAG]... direct|registry FOLDER PROGRAM [ARGUMENT]...
//	kubelet serve FOLDER
//
// It is played in FOLDER, which has the kubelet's own layout. PROGRAM offers -devices devices there; it
// changes one for each line on its standard input, as tests/bench/bench_plugin.c does, or by a uevent.
// With serve, it does what its standard input says (serve.go).
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const patience = 20 * time.Second

var (
	devices  = flag.Int("devices", 64, "how many it offers, in all resources together")
	starts   = flag.Int("starts", 1, "how often to start the program")
	calls    = flag.Int("calls", 0, "Allocate calls, from here and from the client in C")
	warm     = flag.Int("warm", 500, "calls before those that are counted")
	client   = flag.String("client", "", "the client in C: bench_allocate")
	changes  = flag.Int("changes", 0, "changes of a device's health")
	node     = flag.String("node", "", "make a device change by taking away this node of it and giving it back ...")
	uevent   = flag.String("uevent", "", "... and by a change that is written to this file of sysfs")
	pause    = flag.Duration("pause", time.Millisecond, "how long to wait after a change")
	restarts = flag.Int("restarts", 0, "restarts of the kubelet")
)

// figures are what is printed.
type figures struct {
	FirstList  []int64           `json:"first_list"` // from exec
	Registered []int64           `json:"registered"` // from kubelet.sock, or from the socket in the registry
	AllocateC  []int64           `json:"allocate_c"`
	AllocateGo []int64           `json:"allocate_go"`
	Change     []int64           `json:"change"` // until the message was read
	Memory     map[string]uint64 `json:"memory"` // at rest after the first list
	Worked     map[string]uint64 `json:"worked"` // at the end
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func nowNs() int64 {
	var t unix.Timespec
	check(unix.ClockGettime(unix.CLOCK_MONOTONIC, &t))
	return t.Nano()
}

func next[T any](from chan T, what string) T {
	select {
	case it := <-from:
		return it
	case <-time.After(patience):
		log.Fatalf("%s did not come", what)
		panic("unreachable")
	}
}

// program is a device plugin that runs.
type program struct {
	began int64
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
}

func start(command []string) *program {
	p := &program{cmd: exec.Command(command[0], command[1:]...)}
	p.cmd.Stderr = os.Stderr
	var err error
	p.in, err = p.cmd.StdinPipe()
	check(err)
	out, err := p.cmd.StdoutPipe()
	check(err)
	p.out = bufio.NewReader(out)
	p.began = nowNs()
	check(p.cmd.Start())
	return p
}

func (p *program) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// change makes it change a device's health; when that began, by the program's own word, or when the
// kernel was told.
func (p *program) change(turn int) int64 {
	if *node != "" {
		return changeNode(turn)
	}
	_, err := io.WriteString(p.in, "\n")
	check(err)
	line, err := p.out.ReadString('\n')
	check(err)
	at, err := strconv.ParseInt(line[:len(line)-1], 10, 64)
	check(err)
	return at
}

func changeNode(turn int) int64 {
	from, to := *node, *node+".away"
	if turn%2 == 1 {
		from, to = to, from
	}
	check(os.Rename(from, to))
	at := nowNs()
	check(os.WriteFile(*uevent, []byte("change"), 0o200))
	return at
}

var field = regexp.MustCompile(`(?m)^(\w+):\s+(\d+) kB`)

func (p *program) memory() map[string]uint64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", p.cmd.Process.Pid))
	check(err)
	sizes := map[string]uint64{}
	for _, match := range field.FindAllSubmatch(text, -1) {
		sizes[string(match[1])], err = strconv.ParseUint(string(match[2]), 10, 64)
		check(err)
	}
	return sizes
}

// measureStarts ends with the program of the last start running.
func measureStarts(k *kubelet, way string, command []string, f *figures) *program {
	for n := 1; ; n++ {
		p := start(command)
		f.FirstList = append(f.FirstList, k.until(*devices)-p.began)
		at := next(k.registered, "the registration")
		if way == "registry" {
			f.Registered = append(f.Registered, at-next(k.found, "the socket"))
		}
		time.Sleep(20 * time.Millisecond)
		if n == *starts {
			return p
		}
		p.kill()
		k.forget()
		k.wipe("kubelet.sock")
	}
}

func measureCalls(k *kubelet, f *figures) {
	resource, device := k.some()
	for i := range *warm + *calls {
		began := nowNs()
		check(k.allocate(resource, device))
		if took := nowNs() - began; i >= *warm {
			f.AllocateGo = append(f.AllocateGo, took)
		}
	}
	cmd := exec.Command(*client, k.sockets[resource], device, fmt.Sprint(*warm), fmt.Sprint(*calls))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	check(err)
	for _, line := range bytes.Fields(out) {
		took, err := strconv.ParseInt(string(line), 10, 64)
		check(err)
		f.AllocateC = append(f.AllocateC, took)
	}
}

// measureChanges sees each device go bad, then each come back; or one by its node.
func measureChanges(k *kubelet, p *program, f *figures) {
	period := 2 * *devices
	if *node != "" {
		period = 2
	}
	for turn := range *changes {
		bad := turn%period + 1
		if bad > period/2 {
			bad = period - bad
		}
		began := p.change(turn)
		f.Change = append(f.Change, k.until(*devices-bad)-began)
		time.Sleep(*pause)
	}
}

func measureRestarts(k *kubelet, f *figures) {
	healthy := k.healthy()
	for range *restarts {
		k.stop()
		time.Sleep(time.Duration(rand.Intn(100)) * time.Millisecond)
		appeared := k.start()
		f.Registered = append(f.Registered, next(k.registered, "the registration")-appeared)
		k.until(healthy)
		time.Sleep(10 * time.Millisecond)
	}
}

func main() {
	flag.Parse()
	if flag.NArg() == 2 && flag.Arg(0) == "serve" {
		k := newKubelet(flag.Arg(1))
		k.start()
		serve(k)
		return
	}
	if flag.NArg() < 3 || flag.Arg(0) != "direct" && flag.Arg(0) != "registry" {
		log.Fatal("usage: kubelet [FLAG]... direct|registry FOLDER PROGRAM [ARGUMENT]...")
	}
	k := newKubelet(flag.Arg(1))
	if flag.Arg(0) == "registry" {
		k.watchRegistry()
	}
	k.start()
	f := &figures{}
	p := measureStarts(k, flag.Arg(0), flag.Args()[2:], f)
	defer p.kill()
	time.Sleep(300 * time.Millisecond)
	f.Memory = p.memory()
	if *calls > 0 {
		measureCalls(k, f)
	}
	measureChanges(k, p, f)
	measureRestarts(k, f)
	f.Worked = p.memory()
	check(json.NewEncoder(os.Stdout).Encode(f))
}
