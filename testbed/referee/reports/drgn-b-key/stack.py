import glob
import sys

import drgn

program = drgn.Program()
program.set_core_dump(glob.glob("qemu_*.core")[0])
module = program.extra_module(sys.argv[1], create=True)
module = module[0] if isinstance(module, tuple) else module
module.address_ranges = [(0x400000, 0x401000)]
module.try_file(sys.argv[1], force=True)
print(program.stack_trace(program.main_thread().tid))
