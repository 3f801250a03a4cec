// Where a program asks Go's own traceback: in goroutines, on a stack that grew, behind defer, recover and faults.
package main

import (
	"runtime"
	"unsafe"
)

const most = 96

// What each call of runtime.Callers left, zero behind it; asked is how many calls there were.
var (
	answers [32][most]uintptr
	asked   int
	turn    = make(chan bool, 1)
)

//go:noinline
func ask() {
	turn <- true
	asked++
	runtime.Callers(0, answers[asked-1][:])
	<-turn
}

//go:noinline
func deep(n int) int {
	var room [64]int
	room[n%64] = n
	if n == 0 {
		ask()
		return room[0]
	}
	return deep(n-1) + room[n%64]
}

type asks interface{ here(int) int }

type value struct{ n int }

func (v value) here(n int) int {
	ask()
	return v.n + n
}

//go:noinline
func deferred(n int) (said string) {
	defer ask()
	defer func() { said = recover().(error).Error(); ask() }()
	defer ask()
	fault(n)
	return ""
}

type failure string

func (said failure) Error() string { return string(said) }

//go:noinline
func fault(n int) {
	defer ask()
	var nowhere *value
	var few []int
	switch n {
	case 0:
		panic(failure("by hand"))
	case 1:
		nowhere.n++
	case 2:
		few[n]++
	case 3:
		copy(unsafe.Slice((*byte)(unsafe.Pointer(uintptr(n))), 48), "written by assembly, which has no frame, to nowhere")
	case 4:
		var nobody func()
		nobody()
	}
}

func leaves(done chan int) {
	defer func() { ask(); done <- 0 }()
	runtime.Goexit()
}

func worker(in <-chan int, out chan<- int) {
	for n := range in {
		out <- deep(n)
	}
	ask()
	out <- -1
}

func init() { ask() }

func main() {
	in, out := make(chan int), make(chan int)
	for i := 0; i < 2; i++ {
		go worker(in, out)
	}
	go func() {
		for n := 1; n <= 2; n++ {
			in <- 30 * n
		}
		close(in)
	}()
	for ended := 0; ended < 2; {
		if <-out < 0 {
			ended++
		}
	}
	go leaves(out)
	<-out
	var someone asks = &value{1}
	if someone.here(1) != 2 {
		panic("wrong")
	}
	for n := 0; n < 5; n++ {
		if deferred(n) == "" {
			panic("wrong")
		}
	}
	println(asked)
}
