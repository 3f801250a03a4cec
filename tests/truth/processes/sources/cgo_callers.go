// Go that calls C, which calls Go back, which asks Go's own traceback.
package main

/*
extern int back(int);
static int over_there(int n) { return back(n) + 1; }
*/
import "C"
import "runtime"

var (
	answers [32][96]uintptr
	asked   int
)

//go:noinline
func ask() {
	asked++
	runtime.Callers(0, answers[asked-1][:])
}

//export back
func back(n C.int) C.int {
	ask()
	if n <= 0 {
		return 0
	}
	return C.over_there(n-1) + 1
}

func main() {
	done := make(chan C.int)
	go func() { done <- C.over_there(3) }()
	if <-done != 7 {
		panic("wrong")
	}
}
