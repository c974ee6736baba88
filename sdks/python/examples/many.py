"""Many sandboxes at once, each with its own answer. Needs CARREL_URL and CARREL_TOKEN."""

import asyncio

from carrel import AsyncCarrel


async def factorial(carrel: AsyncCarrel, number: int) -> str:
    async with await carrel.sandboxes.create(memory_mb=128, ephemeral=True) as sandbox:
        result = await sandbox.run_code(f"import math; math.factorial({number})")
        return f"{number}! = {result.text}"


async def main() -> None:
    async with AsyncCarrel() as carrel:
        for line in await asyncio.gather(*(factorial(carrel, number) for number in (5, 10, 15))):
            print(line)


asyncio.run(main())
