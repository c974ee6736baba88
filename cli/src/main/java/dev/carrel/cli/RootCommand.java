package dev.carrel.cli;

import picocli.CommandLine.Command;

@Command(
    name = "carrel",
    description = {
      "A private desk for every agent: runs untrusted code in isolated sandboxes on this machine.",
      ""
    },
    synopsisSubcommandLabel = "COMMAND",
    footerHeading = "%nExamples:%n",
    footer = {
      "  carrel run -c 'print(6*7)'            run Python in a sandbox of its own",
      "  carrel run script.py data.csv         data.csv lies beside the script",
      "  carrel serve                          start the server",
      "  id=$(carrel sandbox create -q)        a sandbox that stays",
      "  carrel exec $id -- uname -a           run a command in it",
      "  carrel doctor                         what isolation this host really gives",
      "",
      "Exit codes: the program's own; 1 the answer is no, or a part failed; 2 wrong usage; 125"
          + " Carrel failed; 130 interrupted; 141 the output could not be written.",
      "Without a running server, a command starts one in its own process.",
      "Environment: CARREL_URL and CARREL_TOKEN name a server, CARREL_TOKEN alone says who you are"
          + " at the one that runs here, NO_COLOR switches colours off."
    })
final class RootCommand extends CommandGroup {}
