//go:build !race

package script

const racing = false
