package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// alone runs a program in a network of its own, so that it may have any port.
func alone(args []string) *exec.Cmd {
	cmd := exec.Command("svc-alone", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	return cmd
}

// canBeAlone reports whether the system lets us make networks.
func canBeAlone() bool { return alone([]string{"true"}).Run() == nil }

// beAlone is the program svc-alone: it opens the loopback of its network, and becomes the program that it is given.
func beAlone() {
	if err := openLoopback(); err != nil {
		fmt.Fprintln(os.Stderr, "svc-alone:", err)
		os.Exit(1)
	}
	path, err := exec.LookPath(os.Args[1])
	if err == nil {
		err = syscall.Exec(path, os.Args[1:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, "svc-alone:", err)
	os.Exit(1)
}

func openLoopback() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, lo)
}
