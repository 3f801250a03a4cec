// An unwinder by frame pointers: follow the list of frame records. Build and try it:
//
//	go build -o my_unwinder my_unwinder.go testbed_host.go
//	testbed protocol --check --unwinder-cmd ./my_unwinder
//	testbed run leaf_call --unwinder-cmd ./my_unwinder
//
// A record is two words: the caller's frame pointer, and the return address behind it.
package main

func unwind(at *Snapshot) ([]Frame, string) {
	name := "x29"
	if at.Arch == "x86_64" {
		name = "rbp"
	}
	frames := []Frame{{PC: at.PC}}
	fp, known := at.Registers[name]
	if !known {
		return frames, "the frame pointer is unknown"
	}
	for lowest := at.SP; fp != 0; {
		if fp < lowest || fp%at.Word != 0 {
			return frames, "the frame pointer leads nowhere"
		}
		saved, ok := at.WordAt(fp)
		pc, there := at.WordAt(fp + at.Word)
		if !ok || !there {
			return frames, "the frame record cannot be read"
		}
		pc &^= at.PacMask
		if at.ImageAt(pc-1) == nil {
			return frames, "the return address lies in no program"
		}
		if len(frames) == 1024 {
			return frames, "too many frames"
		}
		frames = append(frames, Frame{PC: pc, Registers: map[string]uint64{name: saved}})
		lowest, fp = fp+2*at.Word, saved
	}
	return frames, "" // the outermost frame has a frame pointer of zero
}

func main() {
	serve(unwind, "frame_pointers_in_go", "1", []string{"x86_64", "arm64"})
}
