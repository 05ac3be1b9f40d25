//go:build race

package script

const racing = true
