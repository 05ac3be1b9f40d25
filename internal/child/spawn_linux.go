package child

import (
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// Spawn starts a command that gets the signal when this process is gone, however it ended: a child that is stopped sees
// no pipe close.
func Spawn(cmd *exec.Cmd, whenGone os.Signal) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = whenGone.(syscall.Signal)
	begin.Do(func() { go mother() })
	born := birth{cmd, make(chan error, 1)}
	births <- born
	return <-born.err
}

type birth struct {
	cmd *exec.Cmd
	err chan error
}

var (
	begin  sync.Once
	births = make(chan birth)
)

// mother starts all children from one thread that never ends: the kernel means the thread when it says parent.
func mother() {
	runtime.LockOSThread()
	for b := range births {
		b.err <- b.cmd.Start()
	}
}
