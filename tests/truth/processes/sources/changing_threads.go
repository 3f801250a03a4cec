// Goroutines that one thread leaves and another one goes on with.
package main

import (
	"runtime"
	"sync"
)

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func work(in, out chan int, all *sync.WaitGroup) {
	defer all.Done()
	for n := range in {
		out <- fib(n%6 + 3)
		runtime.Gosched()
	}
}

func main() {
	runtime.GOMAXPROCS(4)
	in, out := make(chan int), make(chan int, 20)
	var all sync.WaitGroup
	for i := 0; i < 4; i++ {
		all.Add(1)
		go work(in, out, &all)
	}
	for i := 0; i < 20; i++ {
		in <- i
	}
	close(in)
	all.Wait()
}
