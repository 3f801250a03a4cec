// summary: a switch through a jump table: an indirect jump inside one function is no call
// exit: 94
// frames: dispatch = dispatch, main, _start
// frames: helper = helper, dispatch, main, _start

volatile unsigned state = 1;

__attribute__((noinline)) unsigned helper(unsigned x) {
    state = state + x;
    return state;
}

// Ten cases and more, because arm64 makes no jump table for fewer. They do different things to volatile memory, so
// no table of results can take its place.
__attribute__((noinline)) unsigned dispatch(unsigned operation) {
    unsigned result = operation;
    switch (operation) {
    case 0: state = state + 7; break;
    case 1: result = state ^ 5; break;
    case 2: state = state << 1; break;
    case 3: result = helper(2) + 1; break;
    case 4: result = helper(4) - 2; break;
    case 5: state = state - 3; break;
    case 6: state = ~state & 31; break;
    case 7: result = state | 8; break;
    case 8: result = 2 * helper(1); break;
    case 9: state = 2; break;
    case 10: result = state - 6; break;
    case 11: state = state >> 1; break;
    default: state = 30; break;
    }
    state = state + 1;
    return result;
}

int main(void) {
    unsigned sum = 0;
    for (unsigned i = 0; i < 14; i += 2) {
        sum += dispatch(i);
    }
    return (int)(sum + state);
}
