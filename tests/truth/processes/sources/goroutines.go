// Goroutines that wait for each other, a stack that grows by copies, and panics that are recovered, one of them a fault.
package main

//go:noinline
func deep(n int) int {
	var room [64]int
	room[n%64] = n
	if n == 0 {
		return room[0]
	}
	return deep(n-1) + room[n%64] - n + 1
}

//go:noinline
func broken(n int, where *int) (said string) {
	defer func() { said = recover().(error).Error() }()
	if n > 0 {
		return string(rune(*where / n))
	}
	panic(failure("by hand"))
}

type failure string

func (said failure) Error() string { return string(said) }

func worker(in <-chan int, out chan<- int) {
	for n := range in {
		out <- deep(n)
	}
	out <- -1
}

func main() {
	in, out := make(chan int), make(chan int, 1)
	for i := 0; i < 2; i++ {
		go worker(in, out)
	}
	go func() {
		for n := 1; n <= 2; n++ {
			in <- 30 * n
		}
		close(in)
	}()
	sum := 0
	for ended := 0; ended < 2; {
		if n := <-out; n < 0 {
			ended++
		} else {
			sum += n
		}
	}
	if sum != 90 || broken(0, nil) != "by hand" || len(broken(1, nil)) < 20 {
		panic("wrong")
	}
}
