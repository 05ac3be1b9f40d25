package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// usage is that of this process.
func usage() (Usage, error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return Usage{}, fmt.Errorf("getrusage: %w", err)
	}
	u := Usage{CPU: time.Duration(r.Utime.Nano() + r.Stime.Nano())}
	var err error
	if u.RSS, u.HighWater, err = memoryOf(os.Getpid()); err != nil {
		return u, err
	}
	u.Written, err = procField("/proc/self/io", "write_bytes:")
	return u, err
}

// memoryOf is the resident memory of a process, now and at its most.
func memoryOf(pid int) (rss, highWater int64, err error) {
	status := fmt.Sprintf("/proc/%d/status", pid)
	if rss, err = procField(status, "VmRSS:"); err != nil {
		return 0, 0, err
	}
	highWater, err = procField(status, "VmHWM:")
	return rss << 10, highWater << 10, err
}

// cpuOf is the CPU that a process of one thread has used.
func cpuOf(pid int) (time.Duration, error) {
	file := fmt.Sprintf("/proc/%d/schedstat", pid)
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	used, _, _ := strings.Cut(string(text), " ")
	n, err := strconv.ParseInt(used, 10, 64)
	return time.Duration(n), err
}

// procField reads the number that follows a name in a file of /proc.
func procField(file, name string) (int64, error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) > 1 && fields[0] == name {
			return strconv.ParseInt(fields[1], 10, 64)
		}
	}
	return 0, fmt.Errorf("%s has no %s", file, name)
}

// openFiles is how many files this process may open, and with the same limits its children: package os has raised the limit.
func openFiles() int {
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r) != nil {
		return 1024
	}
	return int(min(r.Max, 1<<20))
}

func fdatasync(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }

// endsWithUs lets a child die with this process, however that ends.
func endsWithUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(text)); err == nil && len(fields) > 0 {
		return fields[0]
	}
	return "unknown"
}

// diskOf names the device and file system that hold a path.
func diskOf(path string) string {
	mounts, err := os.ReadFile("/proc/mounts")
	real, err2 := filepath.EvalSymlinks(path)
	if err != nil || err2 != nil {
		return "unknown"
	}
	name, longest := "unknown", -1
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue
		}
		at := strings.TrimSuffix(fields[1], "/") + "/"
		if strings.HasPrefix(real+"/", at) && len(at) >= longest {
			name, longest = fields[0]+" ("+fields[2]+")", len(at)
		}
	}
	if strings.Contains(name, "tmpfs") {
		name += ", in memory: what it says of durable writes means nothing"
	}
	return name
}
