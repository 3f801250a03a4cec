local function fib(n) if n < 2 then return n end return fib(n-1) + fib(n-2) end
local ok, said = pcall(function() error("x") end)
local co = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end)
local s = 0 for i = 1, 500 do s = s + i % 7 end
print(fib(9), ok, co(), co(), s)
