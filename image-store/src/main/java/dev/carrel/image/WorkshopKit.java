package dev.carrel.image;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * What a container is given to make a root of itself: scripts and what they read, all of which is
 * gone from it at their end.
 *
 * @param lock what exactly to install; null: the newest
 * @param sources where packages come from
 * @param ofHost whether these are the host's, so that its keys and its way there are too
 */
record WorkshopKit(Recipe recipe, @Nullable ImageLock lock, AptSources sources, boolean ofHost) {
  private static final String FOLDER = "carrel-build";

  static final List<String> COMMAND = List.of("/bin/sh", "/" + FOLDER + "/build");

  /** What mmdebstrap does of itself, for a root that is there already and has a past. */
  private static final String BUILD =
      """
      set -eu
      exec 2>&1
      export DEBIAN_FRONTEND=noninteractive DEBCONF_NONINTERACTIVE_SEEN=true
      kit=/carrel-build
      if test "$(dpkg --print-architecture)" != "$(cat $kit/architecture)"; then
        echo "E: the base image is for $(dpkg --print-architecture)"
        exit 1
      fi
      rm -rf /etc/apt/sources.list.d /etc/apt/preferences.d /etc/apt/preferences
      mkdir -p /etc/apt/sources.list.d /etc/apt/preferences.d /etc/apt/apt.conf.d \
        /etc/apt/trusted.gpg.d /etc/dpkg/dpkg.cfg.d
      cp $kit/sources.build /etc/apt/sources.list
      cp $kit/apt.conf /etc/apt/apt.conf.d/99carrel
      cp $kit/apt.build /etc/apt/apt.conf.d/zz-carrel-build
      cp $kit/dpkg.cfg /etc/dpkg/dpkg.cfg.d/99carrel
      for key in $kit/trusted/*; do
        test ! -f "$key" || cp "$key" "/etc/apt/trusted.gpg.d/carrel-build-${key##*/}"
      done
      printf "#!/bin/sh\\nexit 101\\n" > /usr/sbin/policy-rc.d
      chmod 755 /usr/sbin/policy-rc.d

      echo "I: asking the package sources..."
      if test -e $kit/wanted; then
        cp $kit/preferences /etc/apt/preferences.d/carrel
        cp $kit/wanted /tmp/carrel.wanted
        sh $kit/look ""
        cut -d " " -f 1 $kit/wanted | sort -u > $kit/names
        dpkg-query -W -f "\\${db:Status-Abbrev} \\${Package}\\n" | grep -v "^.n" \
          | sed "s/.* //" | sort -u > $kit/there
        echo "I: installing the packages of the lock..."
        apt-get -qq -y --allow-downgrades --allow-change-held-packages --purge install \
          $(sed "s/ /=/" $kit/wanted) $(comm -23 $kit/there $kit/names | sed "s/$/-/")
      else
        apt-get --error-on=any -qq update
        echo "I: bringing the base image up to date..."
        apt-get -qq -y dist-upgrade
        echo "I: installing packages..."
        apt-get -qq -y install $(cat $kit/packages)
      fi

      echo "I: finishing..."
      cp $kit/sources.list /etc/apt/sources.list
      sh $kit/finish
      apt-get clean
      rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/ldconfig/aux-cache \
        /var/cache/debconf/*-old /var/lib/dpkg/*-old /var/lib/dbus/machine-id
      find /var/log -type f -delete
      test ! -e /etc/machine-id || : > /etc/machine-id
      for unneeded in man info locale; do
        test ! -d "/usr/share/$unneeded" || find "/usr/share/$unneeded" -mindepth 1 -delete
      done
      if test -d /usr/share/doc; then
        find /usr/share/doc -mindepth 1 ! -type d ! -name copyright -delete
        find /usr/share/doc -mindepth 1 -type d -empty -delete
      fi
      rm -f /etc/apt/preferences.d/carrel /etc/apt/apt.conf.d/zz-carrel-build \
        /etc/apt/trusted.gpg.d/carrel-build-* /usr/sbin/policy-rc.d /.dockerenv
      find /tmp /var/tmp /run -xdev -mindepth 1 -delete || echo "not all of /run could be removed"
      rm -rf $kit
      # Places that the container's runtime has mounted cannot be told the time.
      find / -xdev \\( -path /proc -o -path /sys -o -path /dev \\) -prune \
        -o -newermt "@$SOURCE_DATE_EPOCH" -exec touch -h -c -d "@$SOURCE_DATE_EPOCH" {} + || :
      """;

  /** For the build alone: nobody is there to be asked. */
  private static final List<String> UNATTENDED =
      List.of(
          "APT::Install-Suggests \"false\";",
          "Dpkg::Use-Pty \"0\";",
          "Dpkg::Options:: \"--force-confdef\";",
          "Dpkg::Options:: \"--force-confold\";",
          "Acquire::http::Timeout \"60\";",
          "Acquire::https::Timeout \"60\";");

  byte[] tar() throws IOException, InterruptedException {
    var settings = new ArrayList<>(UNATTENDED);
    var files = new TreeMap<String, byte[]>();
    var keys = new HashMap<Path, String>();
    if (ofHost) {
      settings.addAll(HostApt.settings());
      for (Path key : sources.keys()) {
        if (Files.isRegularFile(key)) {
          String name = "keys/" + keys.size() + "-" + key.getFileName();
          files.put(name, HostApt.read(key));
          keys.put(key, "/" + FOLDER + "/" + name);
        }
      }
      HostApt.trusted().forEach((name, key) -> files.put("trusted/" + name, key));
    }
    byte[] authorities = HostApt.authorities();
    if (authorities.length > 0) {
      files.put("authorities.crt", authorities);
      settings.add("Acquire::https::CAInfo \"/" + FOLDER + "/authorities.crt\";");
    }
    files.put("build", bytes(BUILD));
    files.put("finish", bytes(DebianScripts.FINISH));
    files.put("architecture", bytes(Platform.host().architecture()));
    files.put("sources.build", bytes(sources.signedBy(keys).text()));
    files.put("sources.list", bytes(sources.text()));
    files.put("apt.build", lines(settings));
    files.put("apt.conf", lines(DebianScripts.APT.stream().map(line -> line + ";").toList()));
    files.put("dpkg.cfg", lines(DebianScripts.DPKG));
    files.put("packages", lines(DebianScripts.packages(recipe)));
    if (lock != null) {
      files.put("look", bytes(DebianScripts.LOOK_FOR_MISSING));
      files.put("wanted", bytes(DebianScripts.wanted(lock)));
      files.put("preferences", bytes(lock.preferences()));
    }
    return packed(files);
  }

  private static byte[] packed(Map<String, byte[]> files) throws IOException {
    var bytes = new ByteArrayOutputStream();
    var tar = new TarWriter(bytes);
    for (String folder : List.of("", "/keys", "/trusted")) {
      tar.directory(FOLDER + folder, 0755, 0);
    }
    for (Map.Entry<String, byte[]> file : files.entrySet()) {
      byte[] content = file.getValue();
      tar.file(
          FOLDER + "/" + file.getKey(), 0644, content.length, 0, new ByteArrayInputStream(content));
    }
    tar.finish();
    return bytes.toByteArray();
  }

  private static byte[] lines(List<String> all) {
    return bytes(String.join("\n", all) + "\n");
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
