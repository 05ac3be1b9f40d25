package memory

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
)

// fallback is the memory of a machine that does not tell.
const fallback = 4 << 30

// Quarter is a quarter of the memory that this process may have: of the machine's, of its control group's, or of the limit
// that GOMEMLIMIT sets, whichever is least.
func Quarter() int64 {
	return max(leastBudget, available("/")/4)
}

// leastBudget is what a process needs to do anything at all.
const leastBudget = 64 << 20

// available is how much memory the process may have, by the files below root.
func available(root string) int64 {
	least := int64(math.MaxInt64)
	for _, n := range []int64{machine(root), controlGroup(root), debug.SetMemoryLimit(-1)} {
		if n > 0 {
			least = min(least, n)
		}
	}
	if least == math.MaxInt64 {
		return fallback
	}
	return least
}

// machine is MemTotal, zero where nothing tells.
func machine(root string) int64 {
	data, err := os.ReadFile(filepath.Join(root, "proc/meminfo"))
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(data) {
		fields := strings.Fields(string(line))
		if len(fields) >= 2 && fields[0] == "MemTotal:" {
			kib, _ := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}

// controlGroup is the least limit of the groups that the process is in, zero where there is none. The second form of control
// groups nests: a parent's limit counts too.
func controlGroup(root string) int64 {
	data, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return 0
	}
	least := int64(0)
	for line := range bytes.Lines(data) {
		parts := strings.SplitN(strings.TrimSpace(string(line)), ":", 3)
		if len(parts) != 3 {
			continue
		}
		folder, file := "sys/fs/cgroup", "memory.max"
		if strings.Contains(parts[1], "memory") {
			folder, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		} else if parts[0] != "0" {
			continue
		}
		for path := parts[2]; ; path = filepath.Dir(path) {
			if n := limitIn(filepath.Join(root, folder, path, file)); n > 0 && (least == 0 || n < least) {
				least = n
			}
			if path == "/" || path == "." {
				break
			}
		}
	}
	return least
}

// limitIn reads a limit, zero for none.
func limitIn(file string) int64 {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	if err != nil || n >= math.MaxInt64>>12 {
		return 0 // "max", and what the first form says for it
	}
	return n
}
