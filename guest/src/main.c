/* The guest: see ../README.md. */
int
main(void)
{
	return 0;
}
