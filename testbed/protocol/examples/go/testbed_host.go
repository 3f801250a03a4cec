// The protocol of docs/protocol.md for one function, unwind. The standard library only.
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"os"
	"strconv"
)

const readAhead = 1024

// Image is a program file that is mapped. A run-time address minus Bias is the address that the file says.
type Image struct {
	Index        int               `json:"index"`
	Path         string            `json:"path"`
	Bias         string            `json:"bias"`
	Start        string            `json:"start"`
	End          string            `json:"end"`
	Size         uint64            `json:"size"`
	FrameRecords map[string]string `json:"frame_records"`
}

// Snapshot is the machine before an instruction: all that you get. A register that is missing is unknown.
type Snapshot struct {
	Arch      string
	Word      uint64
	PacMask   uint64
	Images    []Image
	Registers map[string]uint64
	PC, SP    uint64
	pieces    [2]piece
}

// Frame is one frame. What is not claimed is not judged; an Interrupted one's PC is no return address.
type Frame struct {
	PC          uint64
	CFA         *uint64
	Interrupted bool
	Registers   map[string]uint64
}

type piece struct {
	start uint64
	data  []byte
}

type message struct {
	Type         string            `json:"type"`
	ID           int               `json:"id"`
	Arch         string            `json:"arch"`
	Word         uint64            `json:"word"`
	PC           string            `json:"pc"`
	SP           string            `json:"sp"`
	PacMask      string            `json:"pac_mask"`
	Images       int               `json:"images"`
	Registers    map[string]string `json:"registers"`
	StackAddress string            `json:"stack_address"`
	Stack        string            `json:"stack"`
	Bytes        string            `json:"bytes"`
}

var input = bufio.NewReaderSize(os.Stdin, 1<<16)

func number(text string) uint64 {
	value, _ := strconv.ParseUint(text, 0, 64)
	return value
}

func hexadecimal(value uint64) string { return "0x" + strconv.FormatUint(value, 16) }

func next(into any) bool {
	line, err := input.ReadBytes('\n')
	if err != nil {
		return false
	}
	if err := json.Unmarshal(line, into); err != nil {
		panic(err)
	}
	return true
}

func write(what any) {
	line, err := json.Marshal(what)
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(append(line, '\n'))
}

func ask(request map[string]any) []byte {
	write(request)
	var answer message
	next(&answer)
	data, _ := hex.DecodeString(answer.Bytes)
	return data
}

// Read gives the bytes at an address: fewer where what is mapped ends before, none where nothing is mapped.
func (at *Snapshot) Read(address uint64, size int) []byte {
	for _, piece := range at.pieces {
		if skip := address - piece.start; skip <= uint64(len(piece.data)) && size <= len(piece.data)-int(skip) {
			return piece.data[skip : int(skip)+size]
		}
	}
	ahead := size
	if ahead < readAhead {
		ahead = readAhead
	}
	data := ask(map[string]any{"type": "read", "address": hexadecimal(address), "size": ahead})
	at.pieces[1] = piece{address, data}
	if len(data) > size {
		return data[:size]
	}
	return data
}

// WordAt gives the word at an address; false where it cannot be read.
func (at *Snapshot) WordAt(address uint64) (uint64, bool) {
	data := at.Read(address, int(at.Word))
	var value uint64
	for i := len(data) - 1; i >= 0; i-- {
		value = value<<8 | uint64(data[i])
	}
	return value, len(data) == int(at.Word)
}

// ImageAt gives the image that maps an address, or nil.
func (at *Snapshot) ImageAt(address uint64) *Image {
	for i := range at.Images {
		if number(at.Images[i].Start) <= address && address < number(at.Images[i].End) {
			return &at.Images[i]
		}
	}
	return nil
}

// ReadFile gives bytes of an image's file. (Its path may be opened just as well, on the same machine.)
func (at *Snapshot) ReadFile(image *Image, offset uint64, size int) []byte {
	return ask(map[string]any{"type": "read_file", "image": image.Index, "offset": offset, "size": size})
}

func said(frame Frame) map[string]any {
	out := map[string]any{"pc": hexadecimal(frame.PC)}
	if frame.CFA != nil {
		out["cfa"] = hexadecimal(*frame.CFA)
	}
	if frame.Interrupted {
		out["interrupted"] = true
	}
	if len(frame.Registers) > 0 {
		registers := map[string]string{}
		for name, value := range frame.Registers {
			registers[name] = hexadecimal(value)
		}
		out["registers"] = registers
	}
	return out
}

// serve answers until the input ends. A reason of "" claims that the last frame is the outermost one.
func serve(unwind func(*Snapshot) ([]Frame, string), name, version string, arches []string) {
	var session message
	var images []Image
	for {
		var line message
		if !next(&line) {
			return
		}
		switch line.Type {
		case "hello":
			write(map[string]any{"type": "hello", "protocol": 1, "name": name, "version": version, "arches": arches})
		case "session":
			session, images = line, make([]Image, line.Images)
			for i := range images {
				next(&images[i])
			}
			write(map[string]any{"type": "ready"})
		case "snapshot":
			registers := map[string]uint64{}
			for name, value := range line.Registers {
				registers[name] = number(value)
			}
			stack, _ := hex.DecodeString(line.Stack)
			at := Snapshot{
				Arch: session.Arch, Word: session.Word, PacMask: number(session.PacMask), Images: images,
				Registers: registers, PC: registers[session.PC], SP: registers[session.SP],
				pieces: [2]piece{{number(line.StackAddress), stack}},
			}
			frames, reason := unwind(&at)
			listed := make([]map[string]any, len(frames))
			for i, frame := range frames {
				listed[i] = said(frame)
			}
			answer := map[string]any{"type": "frames", "id": line.ID, "frames": listed}
			if reason == "" {
				answer["root"] = true
			} else {
				answer["stopped"] = reason
			}
			write(answer)
		}
	}
}
