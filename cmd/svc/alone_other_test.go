//go:build !linux

package main

import "os/exec"

func alone(args []string) *exec.Cmd { return exec.Command(args[0], args[1:]...) }
func canBeAlone() bool              { return false }
func beAlone()                      {}
