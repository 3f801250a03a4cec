// Go that calls C, which calls Go back.
package main

/*
extern int back(int);
static int over_there(int n) { return back(n) + 1; }
*/
import "C"

//export back
func back(n C.int) C.int {
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
